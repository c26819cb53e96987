// Owns looking at Kafka's groups as Kafka itself describes them: for whoever watches or judges. Nothing
// that runs goes by it.

import kafkajs, { type Admin } from "kafkajs";
import { messageOf } from "../../protocol/errors.ts";
import { clientLog } from "./clientLog.ts";
import { logError, typeOf } from "./errors.ts";
import type { KafkaLogOptions } from "./kafkaLog.ts";
import { within } from "../../protocol/waiting.ts";

const { AssignerProtocol, Kafka } = kafkajs;

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
  readonly #options: Omit<KafkaLogOptions, "replication">;
  #admin: Promise<Admin> | null = null;

  /** Connects when it is first asked for something. */
  constructor(options: Omit<KafkaLogOptions, "replication">) {
    this.#options = options;
  }

  /** A group that there is not is `Dead` and has no members. @throws LockstepError `unreachable` */
  describe(group: string): Promise<GroupDescription> {
    return this.#ask(`group ${group}`, async (admin) => {
      const { groups } = await admin.describeGroups([group]);
      const found = groups[0];
      const members = (found?.members ?? []).map(({ clientId, memberAssignment }) => ({ clientId, partitions: partitionsIn(memberAssignment) }));
      return { state: found?.state ?? "Dead", members };
    });
  }

  /** The groups whose names begin so. @throws LockstepError `unreachable` */
  namesOf(prefix: string): Promise<readonly string[]> {
    return this.#ask("groups", async (admin) => (await admin.listGroups()).groups.map(({ groupId }) => groupId).filter((name) => name.startsWith(prefix)));
  }

  /** False: it still has members. @throws LockstepError `unreachable` */
  remove(group: string): Promise<boolean> {
    return this.#ask(`group ${group}`, async (admin) => {
      try {
        await admin.deleteGroups([group]);
        return true;
      } catch (error) {
        const [first] = (error as { readonly groups?: readonly { readonly error?: Error }[] }).groups ?? [];
        const type = typeOf(first?.error ?? error);
        if (type === "GROUP_ID_NOT_FOUND") return true;
        if (type === "NON_EMPTY_GROUP") return false;
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    const { clock, limits, logger } = this.#options;
    const admin = await this.#admin?.catch(() => null);
    this.#admin = null;
    await within(clock, limits.closeMs, "closing the connection", admin?.disconnect() ?? Promise.resolve()).catch((error: unknown) => logger.debug({ error: messageOf(error) }, "connection not closed cleanly"));
  }

  async #ask<T>(what: string, request: (admin: Admin) => Promise<T>): Promise<T> {
    const { clock, limits } = this.#options;
    try {
      return await within(clock, limits.requestMs * 2, what, this.#connected().then(request));
    } catch (error) {
      throw logError(what, error);
    }
  }

  #connected(): Promise<Admin> {
    if (this.#admin !== null) return this.#admin;
    const { brokers, clientId, limits, logger } = this.#options;
    const admin = new Kafka({ brokers: [...brokers], clientId, requestTimeout: limits.requestMs, connectionTimeout: limits.requestMs, retry: { retries: 1 }, logCreator: clientLog(logger) }).admin();
    const connecting = admin.connect().then(() => admin);
    this.#admin = connecting;
    connecting.catch(() => {
      if (this.#admin === connecting) this.#admin = null;
    });
    return connecting;
  }
}

/** While a group takes itself apart and together its members have nothing. */
function partitionsIn(assignment: Buffer): Record<string, readonly number[]> {
  return assignment.length === 0 ? {} : (AssignerProtocol.MemberAssignment.decode(assignment)?.assignment ?? {});
}
