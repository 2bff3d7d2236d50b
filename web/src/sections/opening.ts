import { h, lookup, type Child } from "../dom";
import { factor, percent } from "../format";
import { sharedTail } from "../latencies";
import { percentileName } from "../quantiles";
import type { Op, Run } from "../types";
import { isEven } from "./comparison";
import { runLabel } from "./waiting";

/** From here on a ratio is told as a factor. */
const FACTOR_FROM = 1.95;

/** What a comparison says, a sentence for each run after the first. */
export function opening(runs: readonly Run[]): Child {
  const [first, ...others] = runs;
  if (!first) return null;
  return others.map((run) => h("p", { class: "advice quiet" }, sentence(first, run)));
}

function sentence(first: Run, run: Run): Child {
  // Repetitions tell which differences are more than chance.
  const { repeated } = run.result;
  if (repeated?.sentence) return [h("span", { class: `tag s${run.index % 8}` }, run.letter), " ", repeated.sentence];
  const [name, base] = [runLabel(run), runLabel(first)];
  if (run.result.hash === first.result.hash) {
    const isSame = JSON.stringify(run.result.config) === JSON.stringify(first.result.config);
    const why = isSame ? "they have the same configuration." : "the differences between them had no effect here.";
    return [name, " gave the result of ", base, `, to the last command: ${why}`];
  }
  const told = [
    changed(first, run, ["iops"], "IOPS"),
    ...(["read", "write", "flush"] as const).map((op) => tail(first, run, op)),
    changed(first, run, ["waf", "total"], "WAF"),
  ].filter((words) => words !== null);
  if (told.length === 0) return [name, " and ", base, " have no figures in common."];
  return [name, " against ", base, `: ${told.join(", ")}.`];
}

/** The tail that both runs have. */
function tail(first: Run, run: Run, op: Op): string | null {
  const key = sharedTail([first, run], op);
  if (key === undefined) return null;
  return changed(first, run, ["latency_ns", op, key], `${op} ${percentileName(key)}`);
}

function changed(first: Run, run: Run, path: readonly string[], name: string): string | null {
  const [before, now] = [lookup(first, path), lookup(run, path)];
  if (before === null || now === null || before <= 0 || now <= 0) return null;
  const ratio = now / before;
  if (isEven(path, ratio)) return `the same ${name}`;
  if (ratio >= FACTOR_FROM) return `${name} ${factor(ratio)} times as high`;
  return `${name} ${percent(Math.abs(ratio - 1))} ${ratio > 1 ? "higher" : "lower"}`;
}
