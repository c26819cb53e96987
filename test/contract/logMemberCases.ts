// Owns the contract's cases about members in processes of their own that are killed or stand still in
// the middle of their work: what they had under way is done again by others, and nothing is left out.

import assert from "node:assert/strict";
import type { DeclareCase } from "./logContract.ts";
import { numbered, type GroupMember } from "./logFixture.ts";

export function memberCases(test: DeclareCase): void {
  test("a member that is killed in the middle of a batch has committed nothing of it: another does it again", async (c) => {
    const topic = await c.topic({ partitions: 2 });
    const group = c.groupName();
    const first = await c.fixture.member({ group, topic, holds: true });
    for (const partition of [0, 1]) await c.write(topic, partition, numbered(`p${partition}`, 5));
    await c.eventually("both partitions are with the first", () => new Set(first.got.map(({ partition }) => partition)).size === 2);
    assert.deepEqual(await c.log.committed(group, topic), [], "what is under way is not committed");
    await first.kill();
    const second = await c.fixture.member({ group, topic, holds: false });
    await c.eventually("everything, again", () => [0, 1].every((partition) => numbered(`p${partition}`, 5).every((text) => texts(second).includes(text))));
    await c.eventually("the second's commits", async () => (await c.log.committed(group, topic)).every(({ offset }) => offset === 5));
    for (const partition of [0, 1]) assert.deepEqual(textsOf(second, partition), numbered(`p${partition}`, 5));
  });

  test("a member that is killed beside others leaves its partitions to them", async (c) => {
    const topic = await c.topic({ partitions: 4 });
    const group = c.groupName();
    const members = [await c.fixture.member({ group, topic, holds: false }), await c.fixture.member({ group, topic, holds: false })];
    const [victim, survivor] = members as [GroupMember, GroupMember];
    let round = 0;
    const writeRound = async (): Promise<string> => {
      const text = `round-${(round += 1)}`;
      for (const partition of [0, 1, 2, 3]) await c.write(topic, partition, [`${text}/${partition}`]);
      return text;
    };
    await c.eventually("both have partitions", async () => {
      await writeRound();
      return members.every((member) => member.got.length > 0);
    });
    await victim.kill();
    await c.eventually("a round that the survivor reads alone", async () => {
      const text = await writeRound();
      await c.eventually("the round", () => [0, 1, 2, 3].every((partition) => [...texts(victim), ...texts(survivor)].includes(`${text}/${partition}`)));
      return [0, 1, 2, 3].every((partition) => texts(survivor).includes(`${text}/${partition}`));
    });
    const all = new Set([...texts(victim), ...texts(survivor)]);
    for (let past = 1; past <= round; past++) for (const partition of [0, 1, 2, 3]) assert.ok(all.has(`round-${past}/${partition}`), `round ${past} of partition ${partition} was left out`);
  });

  test("row 37: a member that stands still loses its partitions; going on, it commits nothing of theirs and takes part again", async (c) => {
    const topic = await c.topic({ partitions: 1 });
    const group = c.groupName();
    const frozen = await c.fixture.member({ group, topic, holds: true });
    await c.write(topic, 0, numbered("r", 3));
    await c.eventually("the batch is with it", () => frozen.got.length > 0);
    frozen.freeze();
    const other = await c.fixture.member({ group, topic, holds: false });
    await c.eventually("the other has all of it", () => numbered("r", 3).every((text) => texts(other).includes(text)));
    await c.eventually("the other's commit", async () => (await c.log.committed(group, topic))[0]?.offset === 3);
    await c.write(topic, 0, ["s"]);
    await c.eventually("what came meanwhile is committed too", async () => (await c.log.committed(group, topic))[0]?.offset === 4);
    frozen.release();
    frozen.thaw();
    await c.eventually("its late commit is answered", () => frozen.commits.length > 0);
    assert.notEqual(frozen.commits[0], null, "it was refused");
    assert.equal((await c.log.committed(group, topic))[0]?.offset, 4, "and changed nothing");
    await other.kill();
    await c.write(topic, 0, ["t"]);
    await c.eventually("it goes on as a member", () => texts(frozen).includes("t"));
  });
}

const texts = ({ got }: GroupMember): string[] => got.map(({ text }) => text);
/** Each once, in the order of the first time. */
const textsOf = ({ got }: GroupMember, partition: number): string[] => [...new Set(got.filter((seen) => seen.partition === partition).map(({ text }) => text))];
