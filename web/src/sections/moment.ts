import { causesIn } from "../causes";
import { derived, h, section, type Child } from "../dom";
import { axisTime, compact, count, plain, time } from "../format";
import { causeLegend } from "../parts/cause";
import { chart, type ChartSeries } from "../parts/chart";
import { stackedBars } from "../parts/stacked";
import { table } from "../parts/table";
import { intervalOf, longestPerInterval, momentAt, requestsPerInterval, waitsIn, worstMoment, type Moment } from "../moments";
import { seriesInk } from "../theme";
import type { Num, Run } from "../types";
import { runLabel } from "./waiting";

const POINTS = 200;
const DASHES: readonly number[][] = [[], [7, 4], [2, 3], [10, 4, 2, 4]];

interface Seen {
  run: Run;
  moment: Moment | null;
}

/**
 * The worst moment of all runs, and what the others did at the same requests: runs are laid on each other by requests, as a faster one comes
 * to the same place of the workload sooner. Null where no run has latencies over time.
 */
export function worstOfAll(runs: readonly Run[]): HTMLElement | null {
  const worst = runs
    .map((run) => ({ run, moment: worstMoment(run) }))
    .reduce<Seen | null>((best, seen) => ((seen.moment?.longest ?? 0) > (best?.moment?.longest ?? 0) ? seen : best), null);
  if (!worst?.moment) return null;
  const { moment } = worst;
  const number = moment.done + (requestsPerInterval(worst.run)[moment.at] ?? 0) / 2;
  const seen = runs.map((run): Seen => ({ run, moment: run === worst.run ? moment : momentAt(run, intervalOf(run, number)) }));
  return section(
    null,
    "compare-moment",
    "The worst moment, in all runs",
    [
      runLabel(worst.run),
      ` had the longest latency of all: a ${moment.op} of ${time(moment.longest)}, about request ${count(Math.round(number))}. Here are the other runs at the same request: runs are compared by request, not by time.`,
    ],
    overRequests(runs, number),
    bars(seen),
    numbers(seen),
  );
}

function overRequests(runs: readonly Run[], mark: number): HTMLElement {
  const totals = runs.map((run) => requestsPerInterval(run).reduce((sum, each) => sum + each, 0));
  const most = Math.max(...totals, 1);
  const x = Array.from({ length: POINTS }, (_, point) => ((point + 0.5) / POINTS) * most);
  const series = runs.map((run, place): ChartSeries => {
    const longest = longestPerInterval(run);
    // The longest of all intervals that a point stands for: none is passed over.
    const values = x.map((_, point): Num => {
      if ((point / POINTS) * most >= (totals[place] ?? 0)) return null;
      const [first, last] = [intervalOf(run, (point / POINTS) * most), intervalOf(run, ((point + 1) / POINTS) * most)];
      const part = longest.slice(first, last + 1).filter((value): value is number => value !== null && value > 0);
      return part.length > 0 ? Math.max(...part) : null;
    });
    return { label: `${run.letter} ${run.name}`, color: seriesInk(run.index), dash: DASHES[run.index % DASHES.length] ?? [], values };
  });
  return chart({
    title: "Longest latency over the requests of the run",
    description: `Longest latency over the requests of the run: ${series.map((line) => line.label).join(", ")}. The worst moment is at request ${count(Math.round(mark))}; the table below gives the numbers of it.`,
    x,
    xLabel: "requests done",
    xFormat: (value) => (value === null || value === undefined ? "" : count(Math.round(value))),
    xAxis: compact,
    xScale: "linear",
    xRange: [0, most],
    yScale: "log",
    yFormat: time,
    yAxis: axisTime,
    series,
    height: 240,
    mark: { x: mark, label: "worst" },
  });
}

function bars(seen: readonly Seen[]): Child {
  const known = seen.map(({ run, moment }) => ({ run, shares: moment ? waitsIn(run, moment.at) : [] }));
  const sums = known.map(({ shares }) => shares.reduce((sum, { value }) => sum + value, 0));
  const full = Math.max(...sums, 0);
  if (full === 0) return null;
  const names = causesIn(...known.map(({ shares }) => Object.fromEntries(shares.map(({ cause, value }) => [cause, value]))));
  return [
    h("h3", {}, "Waiting of a read or write at that moment, by root cause"),
    causeLegend(names),
    h(
      "div",
      { class: "bar-group" },
      stackedBars(
        known.map(({ run, shares }, place) => ({
          label: runLabel(run),
          spoken: run.name,
          shares,
          full,
          total: [derived(run, "moment.waited", sums[place] ?? 0, time), h("span", { class: "unit" }, "mean")],
        })),
        time,
      ),
    ),
  ];
}

function numbers(seen: readonly Seen[]): HTMLElement {
  const at = (run: Run, moment: Moment | null, name: string): Num => (moment ? (run.result.series.columns[name]?.[moment.at] ?? null) : null);
  const row = (label: string, cell: (seen: Seen) => Child): Child[] => [label, ...seen.map(cell)];
  const column = (label: string, name: string, format: (value: Num | undefined) => string): Child[] =>
    row(label, ({ run, moment }) => derived(run, `moment.${name}`, at(run, moment, name), format));
  return table(
    "The same requests in all runs",
    ["", ...seen.map(({ run }): Child => runLabel(run))],
    [
      row("When", ({ moment }) => (moment ? `${time(moment.from)} to ${time(moment.to)}` : "its run had ended")),
      row("Longest latency", ({ run, moment }) => derived(run, "moment.longest", moment?.longest ?? null, time)),
      column("Read latency, mean", "read_latency_mean_ns", time),
      column("Write latency, mean", "write_latency_mean_ns", time),
      column("Queue depth, mean", "queue_depth", plain),
    ],
    { wide: true },
  );
}
