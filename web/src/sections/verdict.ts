import { h, listed, lookup, section, type Child } from "../dom";
import { factor, plain, time } from "../format";
import type { Num, Run } from "../types";
import { openOnPaper } from "../theme";
import { compared, winner, type Compared, type Ratio } from "../verdict";
import { loopText } from "./header";
import { runLabel } from "./waiting";

/** What the program answers where lives were asked for. */
export interface Answer {
  sentence: string;
  about_differences: string;
  differences: { sentence: string }[];
  assumptions: string;
}

/** The head of a comparison: its title, who wins, and what that stands on. */
export function verdict(runs: readonly Run[], answer: Answer | null): HTMLElement {
  const figures = compared(runs);
  return h(
    "header",
    { class: "run-header", id: "verdict" },
    h("p", { class: "headline" }, title(runs)),
    answer ? h("p", { class: "advice answer" }, answer.sentence) : null,
    h("p", { class: "advice verdict" }, sentence(runs, figures, answer !== null)),
    h("p", { class: "lead" }, grounds(runs), answer ? ` Assumed: ${answer.assumptions}.` : null),
    answer ? differences(answer) : null,
  );
}

/** The differences that matter, folded where there are any. */
function differences({ about_differences: about, differences: lines }: Answer): HTMLElement {
  if (lines.length === 0) return h("p", { class: "lead" }, about);
  const list = h("details", {}, h("summary", {}, about.replace(/:$/, "")), h("ul", { class: "differences" }, lines.map((line) => h("li", {}, line.sentence))));
  openOnPaper(list);
  return list;
}

function title(runs: readonly Run[]): Child {
  const under = (text: string): Child => h("span", { class: "under" }, text);
  const workloads = new Set(runs.map((run) => run.result.workload.name));
  const name = (run: Run): Child => h("span", { class: "stack-name" }, run.short);
  // A comma stands with the name before it: the parts of a title lie apart.
  const comma = (at: number): Child => (at < runs.length - 2 ? under(",") : null);
  const between = (at: number): Child => (at < runs.length - 1 ? null : under(runs.length === 2 ? " against " : " and "));
  const named = (run: Run, at: number): Child => [at > 0 ? between(at) : null, h("span", {}, name(run), comma(at)), " "];
  const names = runs.length <= 3 ? runs.map(named) : `${runs.length} designs`;
  return [names, workloads.size === 1 ? [under(" under "), h("span", { class: "workload-name" }, [...workloads][0])] : under(" under different workloads")];
}

/** "p99.9: 310 ms", or a value alone. */
function value({ path, isMoreBetter, percentile, told }: Compared, run: Run): string {
  const number = lookup(run, path);
  const shown = told(run) ?? formatted(path, isMoreBetter, number);
  return percentile ? `${percentile}: ${shown}` : shown;
}

/** What was compared, where no value is told. */
function words({ words: own, percentile }: Compared): string {
  return percentile ? `${own} (${percentile})` : own;
}

function formatted(path: readonly string[], isMoreBetter: boolean, number: Num): string {
  return path[0] === "latency_ns" ? time(number) : isMoreBetter ? plain(number) : factor(number);
}

/** Which run is the fastest. Beside an answer about lives that is no winner of the comparison. */
function sentence(runs: readonly Run[], figures: readonly Compared[], hasAnswer: boolean): Child {
  const [wins, none, noOne] = hasAnswer ? ["By speed alone: ", "No order by speed: ", "By speed alone no drive is first."] : ["Winner: ", "No winner: ", "No single winner."];
  const ended = runs.filter((run) => run.result.status !== "complete");
  if (ended.length > 0) return [h("strong", {}, none), listed(ended.map((run): Child => [runLabel(run), ` ended as \u201c${run.result.status}\u201d`])), ", so its figures are of another part of the workload."];
  const same = runs.every((run) => run.result.hash === runs[0]?.result.hash);
  if (same) return [h("strong", {}, "No difference:"), " all runs gave the same result, to the last command."];
  const felt = figures.filter(({ name }) => name !== "WAF");
  if (felt.length === 0) return "The runs have no figures in common.";
  const best = winner(runs, figures);
  const isOne = ({ best: top }: Compared): boolean => top.length === 1 && top[0] === best;
  if (best) {
    const told = felt.filter(isOne).map((figure): Child => `${figure.words} (${value(figure, best)})`);
    const shared = felt.filter((figure) => !isOne(figure)).map((figure): Child => words(figure));
    return [h("strong", {}, wins, runLabel(best)), ". Best in ", listed(told.length > 0 ? told : shared), told.length > 0 && shared.length > 0 ? ["; not measurably worse in ", listed(shared)] : null, "."];
  }
  const top = runs.filter((run) => felt.every((figure) => figure.best.includes(run)));
  if (top.length > 1) {
    const others = top.length < runs.length ? " All others are worse." : "";
    return [h("strong", {}, "No measurable difference"), " between ", listed(top.map(runLabel)), " in ", listed(felt.map((figure): Child => words(figure))), ".", others];
  }
  const each = felt.map((figure): Child => {
    const what = figure.isMoreBetter ? "Most" : "Fastest";
    return figure.differs ? [` ${what} ${words(figure)}: `, listed(figure.best.map(runLabel)), "."] : ` No measurable difference in ${words(figure)}.`;
  });
  return [h("strong", {}, noOne), each];
}

/** What the verdict stands on, in one line. */
function grounds(runs: readonly Run[]): string {
  const count = runs[0]?.result.repeated?.count;
  const loops = new Set(runs.map((run) => loopText(run.result)));
  const loop = loops.size === 1 ? [...loops][0] : "different loops: compare with care";
  return count
    ? `${count} runs of each with the same seeds, beyond 95\u202f% intervals; ${loop}.`
    : `One run of each: differences below 10\u202f% may be chance (--repetitions 5 tells); ${loop}.`;
}

const TICKS: readonly number[][] = [
  [0.9, 0.95, 1, 1.05, 1.1],
  [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4, 1.6, 1.8, 2],
  [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4],
  [0.1, 0.2, 0.5, 1, 2, 5, 10],
  [0.01, 0.1, 1, 10, 100],
  [1e-4, 1e-2, 1, 1e2, 1e4],
];
/** Most lines of the axis of ratios. */
const LINES = 8;

/** A row of dots for each figure, over one axis of ratios to the first run. */
export function dots(runs: readonly Run[]): HTMLElement | null {
  const [first, ...others] = runs;
  const figures = compared(runs).filter(({ ratios }) => ratios.some((ratio) => ratio !== null));
  if (!first || figures.length === 0) return null;
  const ends = figures.flatMap(({ ratios }) => ratios.flatMap((ratio) => (ratio ? [ratio.low ?? ratio.middle, ratio.high ?? ratio.middle] : [])));
  const [low, high] = [Math.min(0.95, ...ends) / 1.05, Math.max(1.05, ...ends) * 1.05];
  const within = (ticks: readonly number[]): number[] => ticks.filter((tick) => tick >= low && tick <= high);
  const reaches = (list: readonly number[]): boolean => (list[0] ?? 0) <= low * 1.4 && (list.at(-1) ?? 0) >= high / 1.4;
  const ticks = within(TICKS.find((list) => within(list).length <= LINES && reaches(list)) ?? TICKS.at(-1) ?? []);
  const at = (ratio: number): string => `${(100 * Math.log(ratio / low)) / Math.log(high / low)}%`;
  const line = (tick: number): HTMLElement => placed(h("i", { class: tick === 1 ? "ratio-line one" : "ratio-line" }), at(tick));
  const hasIntervals = runs.some((run) => run.result.repeated);
  return section(
    null,
    "compare-dots",
    "Against the first",
    [
      "Each figure as a ratio to that of ",
      runLabel(first),
      hasIntervals ? ", with its 95\u202f% interval. An interval that crosses the line at 1 tells no difference." : ", from one run of each.",
    ],
    h("ul", { class: "legend", "aria-label": "Runs" }, others.map((run) => h("li", {}, h("span", { class: `dot-key s${run.index % 8}`, "aria-hidden": "true" }), runLabel(run)))),
    h(
      "div",
      { class: "ratio-rows" },
      figures.map((figure) => row(figure, others, ticks.map(line), at)),
      h("div", { class: "ratio-row axis", "aria-hidden": "true" }, h("span"), h("div", { class: "ratio-track" }, ticks.map((tick) => placed(h("span", { class: "ratio-tick" }, `\u00d7${tick}`), at(tick)))), h("span")),
    ),
  );
}

function placed(element: HTMLElement, left: string): HTMLElement {
  element.style.left = left;
  return element;
}

function shown({ middle, low, high }: Ratio): string {
  return low === null || high === null ? `\u00d7${factor(middle)}` : `\u00d7${factor(middle)} (${factor(low)} to ${factor(high)})`;
}

function row(figure: Compared, others: readonly Run[], lines: HTMLElement[], at: (ratio: number) => string): HTMLElement {
  const told = others.flatMap((run) => {
    const ratio = figure.ratios[run.index];
    return ratio ? [{ run, ratio }] : [];
  });
  const track = h("div", { class: "ratio-track", role: "img", "aria-label": `${figure.name}: ${told.map(({ run, ratio }) => `${run.name} ${shown(ratio)}`).join(", ")}` }, lines);
  track.style.height = `${Math.max(1, told.length) * 16 + 6}px`;
  told.forEach(({ run, ratio }, place) => {
    const top = `${place * 16 + 11}px`;
    const parts: HTMLElement[] = [];
    if (ratio.low !== null && ratio.high !== null) {
      const bar = placed(h("i", { class: `ratio-bar s${run.index % 8}` }), at(ratio.low));
      bar.style.right = `calc(100% - ${at(ratio.high)})`;
      parts.push(bar);
    }
    parts.push(placed(h("i", { class: `ratio-dot s${run.index % 8}`, title: `${run.name}: ${shown(ratio)}` }), at(ratio.middle)));
    for (const part of parts) part.style.top = top;
    track.append(...parts);
  });
  return h("div", { class: "ratio-row" }, h("span", { class: "ratio-name" }, figure.name, h("small", {}, figure.isMoreBetter ? " more is better" : " less is better")), track, h("span", { class: "ratio-told" }, told.map(({ ratio }) => h("span", {}, shown(ratio)))));
}
