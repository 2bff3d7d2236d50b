import { causesIn, shares, sum, type Share } from "../causes";
import { empty, h } from "../dom";
import { time } from "../format";
import { causeLegend, causeMeanings } from "../parts/cause";
import { stackedBars, type Bar } from "../parts/stacked";
import type { Part } from "./figures";
import { waited } from "./interval";
import type { Live } from "./types";

/** Seconds of the clock that the bars stand for. */
const SPAN = 5;

const KINDS = [
  { op: "write", label: "Writes" },
  { op: "read", label: "Reads" },
] as const;

/** What requests of the last seconds waited for. */
export function waits(): Part {
  const bars = h("div");
  const legend = h("div");
  const meanings = h("div");
  let named = "";
  const element = h("div", { class: "why" }, legend, bars, meanings);
  const update = (answers: readonly Live[]): void => {
    const newest = answers.at(-1);
    if (!newest) return;
    if (!newest.waiting_ns.read && !newest.waiting_ns.write) {
      bars.replaceChildren(empty("This drive does not record what requests wait for (engine.causes = false)."));
      return;
    }
    const oldest = answers.find((live) => live.wall_s >= newest.wall_s - SPAN - 0.5) ?? newest;
    const tables = KINDS.map(({ op }) => waited(newest, oldest, op));
    const lists = tables.map((table): Share[] => shares(table ?? {}));
    const full = Math.max(...lists.map(sum), 0);
    const rows = KINDS.map(({ label }, index): Bar => {
      const list = lists[index] ?? [];
      const total = sum(list);
      return { label, spoken: `${label} of the last ${SPAN} seconds`, shares: list, full, total: total > 0 ? time(total) : "none" };
    });
    bars.replaceChildren(stackedBars(rows, time));
    // All that was ever waited for, so that names neither come and go nor move under a finger.
    const names = causesIn(newest.waiting_ns.read ?? {}, newest.waiting_ns.write ?? {});
    if (names.join() === named) return;
    named = names.join();
    legend.replaceChildren(causeLegend(names));
    meanings.replaceChildren(names.length > 0 ? causeMeanings(names) : empty("Nothing was read or written yet."));
  };
  return { element, update };
}
