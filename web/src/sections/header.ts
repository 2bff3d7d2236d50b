import { h, type Child } from "../dom";
import { count, plain, seconds, time } from "../format";
import type { Result, Run } from "../types";
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

function notes(result: Result): Child {
  const explained =
    result.status === "complete" ? [] : [STATUS[result.status] ?? `The run ended as \u201c${result.status}\u201d.`];
  const all = [...new Set([...explained, ...(result.defaults ?? []), ...(result.notes ?? [])])];
  return noteList(all, result.status !== "complete");
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
