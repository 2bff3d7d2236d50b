import { derived, empty, h, metric, section, type Child } from "../dom";
import { axisTime, count, percent, time, type Format } from "../format";
import { isCounted, latencyMetric, OPERATION_LABELS, OPERATIONS, operationName } from "../latencies";
import { chart, type ChartSeries, type ChartSpec, type Limit } from "../parts/chart";
import { table } from "../parts/table";
import { percentileName, quantileCurve, quantileGrid, quantileName, quantileTicks, zeroShare } from "../quantiles";
import { READ, seriesInk, WRITE } from "../theme";
import type { Op, Operation, Run } from "../types";

const COLUMNS = ["mean", "p50", "p90", "p99", "p999", "p9999", "max"];

const DASHES: readonly number[][] = [[], [7, 4], [2, 3], [10, 4, 2, 4]];

/** Latencies of a run; `show` is told of a point of the curve that was pressed. */
export function latency(run: Run, show: ((op: Op, latency: number) => void) | null): HTMLElement {
  const ops = OPERATIONS.filter((op) => (run.result.latency_ns[op]?.count ?? 0) > 0);
  const curves = (["read", "write"] as const).filter((op) => ops.includes(op));
  const grid = quantileGrid(curves.map((op) => run.result.latency_ns[op].count));
  const series = curves.map((op) => ({
    label: op,
    color: op === "read" ? READ : WRITE,
    values: quantileCurve(run.result.latency_ns[op], grid),
  }));
  const onPick = show
    ? (curve: number, point: number): void => {
        const [op, latency] = [curves[curve], series[curve]?.values[point]];
        if (op && typeof latency === "number") show(op, latency);
      }
    : null;
  return section(
    run,
    "latency",
    "Latency",
    "From arrival to the last byte known (read) or to the acknowledgement the stack promises (write). Each further nine of the percentile axis takes the same room.",
    series.length > 0 ? quantileChart("Latency by percentile", grid, series, onPick, kept(run)) : empty("No reads or writes in this run."),
    onPick && series.length > 0
      ? h("p", { class: "lead" }, "Press the curve to see a request of that latency, or ", h("a", { href: `#run-${run.index}-requests` }, "go to the slowest"), ".")
      : null,
    withoutFlash(run, curves),
    unwritten(run),
    ops.length > 0
      ? table(
          "Latency percentiles",
          ["", "requests", ...COLUMNS.map(percentileName)],
          ops.flatMap((op) => rows(run, op)),
          { wide: true, short: true },
        )
      : null,
  );
}

/** Says where curves begin later than at 0 %: a logarithmic axis has no place for 0 ns. */
function withoutFlash(run: Run, ops: readonly Op[]): Child {
  if (isCounted(run)) return null;
  const shares = ops.map((op) => ({ op, share: zeroShare(run.result.latency_ns[op]) })).filter(({ share }) => share > 0);
  if (shares.length === 0) return null;
  const words = shares.map(({ op, share }) => `${percent(share)} of the ${op}s`).join(" and ");
  return h("p", { class: "lead" }, `${words} touched no flash and took 0\u202fns; the curve begins behind them.`);
}

/** Says how many reads asked for pages that hold nothing. */
function unwritten(run: Run): Child {
  const { unwritten_read_share: share } = run.result;
  if (!share) return null;
  return h("p", { class: "lead" }, derived(run, "unwritten_read_share", share, percent), " of the reads asked for pages that were never written, or trimmed. They are an operation of their own, and in no percentile of reads.");
}

/** What was simulated, and below it what the trace tells of the drive it was recorded on. */
function rows(run: Run, op: Operation): Child[][] {
  const simulated = [metric(run, ["latency_ns", op, "count"], count), ...COLUMNS.map((key) => latencyMetric(run, op, key))];
  if (op === "unwritten_read" || !run.result.recorded_latency_ns?.[op]) return [[operationName(op), ...simulated]];
  const recorded = (key: string, format: Format): HTMLElement => metric(run, ["recorded_latency_ns", op, key], format);
  return [
    [`${op}, simulated`, ...simulated],
    [`${op}, as recorded`, recorded("count", count), ...COLUMNS.map((key) => recorded(key, time))],
  ];
}

/** Curves of several runs, a picture for reads, for writes and for flushes, on the same axes. */
export function overlaidLatency(runs: readonly Run[]): HTMLElement {
  const pictures = (["read", "write", "flush"] as const).map((op): Child => {
    const shown = runs.filter((run) => (run.result.latency_ns[op]?.count ?? 0) > 0);
    if (shown.length === 0) return null;
    const grid = quantileGrid(shown.map((run) => run.result.latency_ns[op].count));
    const series = shown.map((run): ChartSeries => ({
      label: `${run.letter} ${run.name}`,
      color: seriesInk(run.index),
      // Dashes repeat later than colours are confused, so that two similar hues still differ.
      dash: DASHES[run.index % DASHES.length] ?? [],
      values: quantileCurve(run.result.latency_ns[op], grid),
    }));
    return quantileChart(`${OPERATION_LABELS[op]} latency by percentile`, grid, series);
  });
  const any = pictures.some((picture) => picture !== null);
  return section(
    null,
    "compare-latency",
    "Latency",
    null,
    any ? h("div", { class: "pair" }, pictures) : empty(runs.every(isCounted) ? "No time passes in these runs (engine.time = none)." : "No reads, writes or flushes."),
  );
}

/** Limits on latencies of reads and writes, as lines. */
function kept(run: Run): Limit[] {
  const latencies = (run.result.limits ?? []).filter(({ figure }) => /^(read|write)_\w+_ns$/.test(figure));
  return latencies.map(({ limit, bound }) => ({ y: bound, label: `fails if ${limit}` }));
}

/** The percentile whose values the legend tells at rest, and the place of its quantile. */
const REST = 100;

function quantileChart(title: string, grid: number[], series: ChartSeries[], onPick: ChartSpec["onPick"] | null = null, limits: Limit[] = []): HTMLElement {
  const end = grid[grid.length - 1] ?? 100;
  const beyond = grid.findIndex((place) => place > REST * 1.0001);
  return chart({
    title,
    description: `${title}: ${series.map((line) => line.label).join(", ")}. The table below gives the numbers.`,
    x: grid,
    xLabel: "percentile",
    xFormat: quantileName,
    xAxis: quantileName,
    xTicks: quantileTicks(end),
    xScale: "log",
    xRange: [1, end],
    yScale: "log",
    yFormat: time,
    yAxis: axisTime,
    series,
    height: 300,
    rest: beyond < 0 ? grid.length - 1 : beyond - 1,
    limits,
    ...(onPick ? { onPick } : {}),
  });
}
