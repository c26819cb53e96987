// Owns looking at Kafka's groups as Kafka itself describes them: for whoever watches or judges. Nothing
// that runs goes by it.

import kafkajs from "kafkajs";
import { AdminConnection, kafkaClient, type ClientOptions } from "./admin.ts";
import { deleteGroup } from "./questions.ts";

const { AssignerProtocol } = kafkajs;

export interface GroupMember {
  readonly clientId: string;
  /** Per topic. */
  readonly partitions: Readonly<Record<string, readonly number[]>>;
}

export interface GroupDescription {
  /** Kafka's word: `Stable`, `PreparingRebalance`, `CompletingRebalance`, `Empty`, `Dead`. */
  readonly state: string;
  readonly members: readonly GroupMember[];
}

export class GroupView {
  readonly #admin: AdminConnection;

  /** Connects when it is first asked for something. */
  constructor(options: ClientOptions) {
    // Whoever looks does not wait for long.
    const limits = { ...options.limits, askMs: 2 * options.limits.requestMs };
    this.#admin = new AdminConnection(kafkaClient(options), { ...options, limits });
  }

  /** A group that there is not is `Dead` and has no members. @throws LockstepError `unreachable` */
  describe(group: string): Promise<GroupDescription> {
    return this.#admin.ask(`group ${group}`, async (admin) => {
      const { groups } = await admin.describeGroups([group]);
      const found = groups[0];
      const members = (found?.members ?? []).map(({ clientId, memberAssignment }) => ({ clientId, partitions: partitionsIn(memberAssignment) }));
      return { state: found?.state ?? "Dead", members };
    });
  }

  /** The groups whose names begin so. @throws LockstepError `unreachable` */
  namesOf(prefix: string): Promise<readonly string[]> {
    return this.#admin.ask("groups", async (admin) => (await admin.listGroups()).groups.map(({ groupId }) => groupId).filter((name) => name.startsWith(prefix)));
  }

  /** False: it still has members. @throws LockstepError `unreachable` */
  remove(group: string): Promise<boolean> {
    return this.#admin.ask(`group ${group}`, (admin) => deleteGroup(admin, group));
  }

  close(): Promise<void> {
    return this.#admin.close();
  }
}

/** While a group takes itself apart and together its members have nothing. */
function partitionsIn(assignment: Buffer): Record<string, readonly number[]> {
  return assignment.length === 0 ? {} : (AssignerProtocol.MemberAssignment.decode(assignment)?.assignment ?? {});
}
