// Owns the cases of the mailbox.

import { test } from "node:test";
import assert from "node:assert/strict";
import { Mailbox, type TellResult } from "../../../actors/shell/mailbox.ts";

function mailbox(capacity: number, onMessage: (message: string, box: Mailbox<string>) => void = () => undefined) {
  const handled: string[] = [];
  const failures: unknown[] = [];
  let depth = 0;
  const box: Mailbox<string> = new Mailbox({
    capacity,
    handle: (message) => {
      depth++;
      assert.equal(depth, 1, "a handler inside another");
      handled.push(message);
      try {
        onMessage(message, box);
      } finally {
        depth--;
      }
    },
    onFailure: (error) => failures.push(error),
  });
  return { box, handled, failures };
}

test("an idle mailbox handles a message in the turn in which it is told", () => {
  const { box, handled } = mailbox(1);
  assert.equal(box.tell("a"), "accepted");
  assert.deepEqual([handled, box.waiting], [["a"], 0]);
});

test("what is told while a message is handled waits for its end, in order", () => {
  const { box, handled } = mailbox(10, (message) => {
    if (message === "a") for (const next of ["b", "c"]) box.tell(next);
  });
  box.tell("a");
  assert.deepEqual(handled, ["a", "b", "c"]);
});

test("the system lane overtakes what waits", () => {
  const { box, handled } = mailbox(10, (message) => {
    if (message !== "a") return;
    box.tell("b");
    box.tellSystem("trip");
    box.tellSystem("lift");
  });
  box.tell("a");
  assert.deepEqual(handled, ["a", "trip", "lift", "b"]);
});

test("full is an answer: what is over the bound is refused, the system lane and answers are not", () => {
  const results: TellResult[] = [];
  const { box, handled } = mailbox(2, (message) => {
    if (message !== "a") return;
    for (const next of ["b", "c", "d"]) results.push(box.tell(next));
    box.tellAnswer("answer");
    box.tellSystem("trip");
  });
  box.tell("a");
  assert.deepEqual(results, ["accepted", "accepted", "full"]);
  assert.deepEqual(handled, ["a", "trip", "b", "c", "answer"]);
  assert.equal(box.tell("later"), "accepted", "there is room again");
});

test("a handler that fails stops the mailbox: nothing is handled after it, and it is told once", () => {
  const { box, handled, failures } = mailbox(10, (message) => {
    box.tell("queued");
    if (message === "a") throw new Error("broken");
  });
  box.tell("a");
  assert.equal(box.tell("b"), "stopped");
  box.tellSystem("c");
  box.tellAnswer("d");
  assert.deepEqual([handled, failures.length, box.waiting], [["a"], 1, 0]);
});

test("a stop inside a handler drops what waits", () => {
  const { box, handled } = mailbox(10, () => {
    box.tell("b");
    box.stop();
  });
  box.tell("a");
  assert.deepEqual(handled, ["a"]);
});
