import { h, type Child } from "../dom";
import { count, plain, seconds, time } from "../format";
import { openOnPaper } from "../theme";
import type { JudgedLimit, NoteRank, Result, Run } from "../types";
import { advice } from "./advice";

const STATUS: Record<string, string> = {
  interrupted: "The run was interrupted: the numbers cover the part that ran.",
  "drive-full": "The drive ran out of space: the numbers end there.",
  "worn-out": "The drive wore out: the numbers end there.",
};

export function loopText(result: Result): string {
  const { loop, queue_depth: depth } = result.workload;
  if (loop === "open") return "open loop: requests arrive at trace time";
  return `closed loop: ${depth === null ? "fixed queue depth" : `queue depth ${count(depth)}`}, trace times ignored`;
}

export function header(run: Run): HTMLElement {
  const { result } = run;
  return h(
    "header",
    { class: "run-header" },
    h(
      "p",
      { class: "headline" },
      h("span", { class: "stack-name" }, result.stack),
      h("span", { class: "under" }, " under "),
      h("span", { class: "workload-name" }, result.workload.name),
      status(result),
    ),
    h("p", { class: "loop" }, loopText(result)),
    advice(run),
    limits(result),
    h(
      "dl",
      { class: "facts" },
      fact("Hash", h("code", {}, result.hash)),
      fact("Seed", h("code", {}, String(result.seed))),
      fact("Simulated", time(result.sim_ns)),
      fact("Computed in", seconds(result.wall_s)),
      fact("Simulation speed", `${plain(result.requests_per_wall_s)} requests/s`),
    ),
    notes(result),
  );
}

function fact(name: string, value: Child): HTMLElement {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

export function status(result: Result): HTMLElement {
  return h("span", { class: result.status === "complete" ? "chip complete" : "chip warn" }, result.status);
}

/** Ranks of notes in the order in which a reader needs them. */
const RANKS: readonly { rank: NoteRank; title: string }[] = [
  { rank: "doubt", title: "Doubts about the result" },
  { rank: "chosen", title: "Chosen for you" },
  { rank: "detail", title: "Details" },
];

/** Notes by rank; only the doubts are open. */
function notes(result: Result): Child {
  const explained =
    result.status === "complete" ? [] : [STATUS[result.status] ?? `The run ended as \u201c${result.status}\u201d.`];
  const ranked = new Map<string, NoteRank>(explained.map((note) => [note, "doubt"]));
  const add = (note: string, rank: NoteRank): void => void (ranked.has(note) || ranked.set(note, rank));
  for (const note of result.defaults ?? []) add(note, "chosen");
  (result.notes ?? []).forEach((note, at) => add(note, result.note_ranks?.[at] ?? (note.startsWith("Doubt:") ? "doubt" : "detail")));
  const groups = RANKS.map(({ rank, title }): Child => {
    const own = [...ranked].filter(([, of]) => of === rank).map(([note]) => note);
    return own.length > 0 ? noteGroup(rank, title, own) : null;
  });
  return ranked.size > 0 ? h("aside", { class: "ranks", "aria-label": "Notes" }, groups) : null;
}

function noteGroup(rank: NoteRank, title: string, own: readonly string[]): HTMLElement {
  const isDoubt = rank === "doubt";
  const group = h(
    "details",
    { class: isDoubt ? "notes warn" : "notes", "data-rank": rank, open: isDoubt },
    h("summary", {}, `${title} (${own.length})`),
    h("ul", {}, own.map((note) => h("li", {}, note))),
  );
  openOnPaper(group);
  return group;
}

/** What limits say of the run: those that it does not keep come first. */
function limits(result: Result): Child {
  const judged = [...(result.limits ?? [])].sort((a, b) => Number(b.fails) - Number(a.fails));
  if (judged.length === 0) return null;
  const line = ({ limit, figure, value, fails }: JudgedLimit): HTMLElement => {
    const shown = figure.endsWith("_ns") ? time(value) : plain(value);
    const words = value === null ? "the run does not tell this figure" : `it is ${shown}`;
    return h("li", { class: fails ? "worse" : "better" }, fails ? "Limit reached: " : "Limit kept: ", h("code", {}, limit), `, ${words}.`);
  };
  return h("ul", { class: "limits", "aria-label": "Limits" }, judged.map(line));
}

/** Notes in a frame of their own; nothing where there are none. */
export function noteList(all: readonly string[], isWarning: boolean): Child {
  if (all.length === 0) return null;
  return h(
    "aside",
    { class: isWarning ? "notes warn" : "notes", "aria-label": "Notes" },
    h(
      "ul",
      {},
      all.map((note) => h("li", {}, note)),
    ),
  );
}
