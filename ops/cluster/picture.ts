// Owns how a running cluster is shown: a table that is drawn again and again on a terminal, a line every
// few seconds elsewhere.

import Table from "cli-table3";
import type { CellId } from "../../protocol/ids.ts";
import type { Clock } from "../../protocol/ports/clock.ts";
import { ownershipOf } from "./judge.ts";
import type { Look } from "./look.ts";

export interface Moment {
  /** What is under way: `playing` is shown with its share. */
  readonly phase: string;
  /** Of the story, 0 to 1. */
  readonly share: number;
  /** Null: nothing is to be seen in this phase. */
  readonly look: Look | null;
}

const LINE_EVERY_MS = 5_000;
const CLEAR_LINE = "\u001b[K";

export class Picture {
  readonly #stream: Pick<NodeJS.WriteStream, "isTTY" | "write">;
  readonly #cell: CellId;
  readonly #clock: Clock;
  #drawnLines = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #lastPhase = "";

  constructor(stream: Pick<NodeJS.WriteStream, "isTTY" | "write">, cell: CellId, clock: Clock) {
    this.#stream = stream;
    this.#cell = cell;
    this.#clock = clock;
  }

  show(moment: Moment): void {
    if (this.#stream.isTTY) return this.#draw(tableText(moment, this.#cell));
    const nowMs = this.#clock.monotonicMs();
    if (moment.phase === this.#lastPhase && nowMs - this.#lastMs < LINE_EVERY_MS) return;
    [this.#lastPhase, this.#lastMs] = [moment.phase, nowMs];
    this.#stream.write(`${lineText(moment, this.#cell)}\n`);
  }

  /** What is written next begins below it. */
  end(): void {
    this.#drawnLines = 0;
  }

  #draw(text: string): void {
    const lines = text.split("\n");
    const up = this.#drawnLines === 0 ? "" : `\u001b[${this.#drawnLines}A\r`;
    this.#stream.write(`${up}${lines.map((line) => `${line}${CLEAR_LINE}\n`).join("")}\u001b[J`);
    this.#drawnLines = lines.length;
  }
}

const storyText = ({ phase, share }: Moment): string => (phase === "playing" ? `playing ${Math.round(share * 100)} %` : phase);

export function lineText(moment: Moment, cell: CellId): string {
  if (moment.look === null) return storyText(moment);
  const { nodes, moves, lag, unowned } = ownershipOf(moment.look, cell);
  const parts = moment.look.words.map(({ node, state }) => {
    const share = nodes.find((each) => each.node === node);
    if (share === undefined || state === "starting") return `${node} ${state}`;
    return `${node}${state === "open" ? "" : ` ${state}`} ${share.accounts.length} accounts ${share.writerPartitions.length} partitions`;
  });
  return `${storyText(moment)}: ${[...parts, ...(unowned.length === 0 ? [] : [`${unowned.length} owned by nobody`]), `lag ${lag.writers}`, `${moves} moves`].join(", ")}`;
}

export function tableText(moment: Moment, cell: CellId): string {
  if (moment.look === null) return storyText(moment);
  const { nodes, moves, lag, unowned } = ownershipOf(moment.look, cell);
  const table = new Table({ head: ["node", "state", "masters", "followers", "writer of"], style: { head: [], border: [] }, chars: { mid: "", "left-mid": "", "mid-mid": "", "right-mid": "" } });
  const masters = new Set<string>(moment.look.accounts.filter(({ role }) => role === "master").map(({ id }) => id));
  for (const { node, state } of moment.look.words) {
    const share = nodes.find((each) => each.node === node);
    const own = share?.accounts.filter((id) => masters.has(id)) ?? [];
    const followers = share?.accounts.length ?? 0;
    table.push([node, state, own.join(" "), String(followers - own.length), share === undefined || share.writerPartitions.length === 0 ? "" : `${share.writerPartitions.length} partitions`]);
  }
  const nobody = unowned.length === 0 ? "" : `, owned by nobody: ${unowned.join(" ")}`;
  return `${table.toString()}\n${storyText(moment)}, writers ${lag.writers} behind, ${moves} moves${nobody}`;
}
