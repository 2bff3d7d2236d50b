import { empty, folded, h, section, type Child } from "../dom";
import { axisTime, compact, count, factor, plain, rate, time, type Format } from "../format";
import { chart, type ChartSeries } from "../parts/chart";
import { table } from "../parts/table";
import { CAUSES, causeInk, causeName } from "../causes";
import { READ, WRITE } from "../theme";
import { requestsPerInterval, waitsIn, worstMoment } from "../moments";
import type { Num, Op, Run } from "../types";

const TABLE_ROWS_MAX = 500;
const THIN = [4, 3];

/** Positive values only: an interval without requests has no latency, and a logarithmic axis no zero. */
function positive(values: Num[]): Num[] {
  return values.map((value) => (value !== null && value > 0 ? value : null));
}

/** Mean waiting of a request by root cause, curves on each other, with the worst moment marked; null where causes are not known. */
function waiting(run: Run, panel: Panel, show: ((op: Op, latency: number) => void) | null): Child {
  const { columns } = run.result.series;
  const counts = requestsPerInterval(run);
  const mean = (cause: string): Num[] => (columns[`${cause}_wait_ns`] ?? []).map((value, at) => (value === null || !counts[at] ? null : value / counts[at]));
  const known = CAUSES.filter((cause) => mean(cause).some((value) => value));
  const worst = worstMoment(run);
  if (known.length === 0 || !worst) return null;
  const stack: Num[] = counts.map(() => 0);
  const series = known.map((cause): ChartSeries => {
    const told = mean(cause);
    told.forEach((value, at) => (stack[at] = (stack[at] ?? 0) + (value ?? 0)));
    return { label: causeName(cause), color: causeInk(cause), values: [...stack], told, fill: true, width: 0.5 };
  });
  const waits = [...waitsIn(run, worst.at)].sort((a, b) => b.value - a.value);
  // What is hardly to be seen in the picture is no part of the answer.
  const told = waits.filter(({ value }) => value >= (waits[0]?.value ?? 0) / 50);
  const most = told.slice(0, 3).map(({ cause, value }) => `${time(value)} for ${causeName(cause, "behindFor")}`);
  const button = show ? h("button", { type: "button", class: "link" }, "see that request") : null;
  button?.addEventListener("click", () => show?.(worst.op, worst.longest));
  return [
    // The highest curve is drawn first, and the others over it.
    panel("Waiting of a request by root cause, mean", series.reverse(), time, axisTime, "linear", { x: (worst.from + worst.to) / 2, label: "worst" }),
    h(
      "p",
      { class: "lead worst-moment" },
      h("strong", {}, "The worst moment"),
      ` is from ${time(worst.from)} to ${time(worst.to)}: its longest ${worst.op} took ${time(worst.longest)}. A read or write of it waited ${most.join(", ") || "for nothing"} in the mean`,
      button ? ["; ", button] : null,
      ".",
    ),
  ];
}

/** Intervals over which programs and writes are summed: in one alone there may be hardly a write. */
const WINDOW = 5;

/** Write amplification over time, in bytes: programs of all causes for each byte that the host wrote; nothing where the run has none. */
function amplification(run: Run): Num[] {
  const { columns } = run.result.series;
  const { waf, host, flash } = run.result;
  const written = columns["write_bytes"] ?? [];
  if (!waf.total || !flash.programs.total) return [];
  const bytesOfProgram = (waf.total * host.write.bytes) / flash.programs.total;
  const programs = written.map((_, at) => CAUSES.reduce((sum, cause) => sum + (columns[`${cause}_programs`]?.[at] ?? 0), 0));
  const near = (list: readonly Num[], at: number): number => list.slice(Math.max(0, at - 2), at - 2 + WINDOW).reduce<number>((sum, value) => sum + (value ?? 0), 0);
  return written.map((_, at) => (near(written, at) > 0 ? (near(programs, at) * bytesOfProgram) / near(written, at) : null));
}

/** Without the lines of operations that the run does not have. */
function told(series: ChartSeries[]): ChartSeries[] {
  const some = series.filter(({ values }) => values.some((value) => value));
  return some.length > 0 ? some : series;
}

type Panel = (
  name: string,
  series: ChartSeries[],
  yFormat: Format,
  yAxis: Format,
  yScale?: "linear" | "log",
  mark?: { x: number; label: string },
) => HTMLElement;

/** A run over time; `show` leads to a request of some latency. */
export function timeline(run: Run, show: ((op: Op, latency: number) => void) | null): HTMLElement {
  const { columns } = run.result.series;
  const interval = Math.max(1, run.result.series.interval_ns);
  const x = (columns["time_ns"] ?? []).map((value) => value ?? 0);
  const title = "Over time";
  if (x.length === 0) return section(run, "timeline", title, null, empty("No intervals were recorded."));
  const column = (name: string): Num[] => columns[name] ?? x.map(() => null);
  const perSecond = (name: string): Num[] => column(name).map((value) => (value === null ? null : (value * 1e9) / interval));
  const worst = worstMoment(run);
  const free = column("free_blocks");
  const amplified = amplification(run);
  const start = x[0] ?? 0;
  const end = Math.max(x[x.length - 1] ?? 0, start + interval);
  const panel: Panel = (name, series, yFormat, yAxis, yScale = "linear", mark) =>
    chart({
      title: name,
      description: `${name} over simulated time: ${told(series).map((line) => line.label).join(", ")}. The table below gives the numbers.`,
      x,
      xLabel: "simulated time",
      xFormat: time,
      xAxis: axisTime,
      xScale: "linear",
      xRange: [start, end],
      yScale,
      yFormat,
      yAxis,
      series: told(series),
      height: 210,
      sync: `run-${run.index}`,
      ...(worst ? { rest: worst.at } : {}),
      ...(mark ? { mark } : {}),
    });
  return section(
    run,
    "timeline",
    title,
    [`One point per ${time(interval)} of simulated time, on one axis in all pictures.${worst ? " Legends tell the worst moment." : ""}`, h("span", { class: "by-pointer" }, " Drag to zoom, double-click to see all.")],
    waiting(run, panel, show),
    h(
      "div",
      { class: "pair" },
      panel(
        "Latency",
        [
          { label: "read mean", color: READ, values: positive(column("read_latency_mean_ns")) },
          { label: "read max", color: READ, dash: THIN, width: 1, values: positive(column("read_latency_max_ns")) },
          { label: "write mean", color: WRITE, values: positive(column("write_latency_mean_ns")) },
          { label: "write max", color: WRITE, dash: THIN, width: 1, values: positive(column("write_latency_max_ns")) },
        ],
        time,
        axisTime,
        "log",
      ),
      amplified.length > 0 ? panel("Write amplification, mean of five intervals", [{ label: "WAF", color: WRITE, values: amplified }], factor, compact) : null,
      panel(
        "Throughput",
        [
          { label: "read", color: READ, values: perSecond("read_bytes") },
          { label: "write", color: WRITE, values: perSecond("write_bytes") },
        ],
        rate,
        (value) => (value ? rate(value).replace(/\.0+(?=\D)/, "") : "0"),
      ),
      free.some((value) => value !== null) ? panel("Free blocks", [{ label: "erased blocks", color: "muted", values: free }], count, compact) : null,
      panel("Queue depth, mean", [{ label: "requests", color: "muted", values: column("queue_depth") }], plain, compact),
      panel(
        "Flash programs per second",
        [
          { label: "host", color: causeInk("host"), values: perSecond("host_programs") },
          ...CAUSES.filter((cause) => cause !== "host" && column(`${cause}_programs`).some((value) => value)).map((cause) => ({
            label: cause,
            color: causeInk(cause),
            ...(cause === "gc" ? {} : { dash: THIN }),
            values: perSecond(`${cause}_programs`),
          })),
        ],
        plain,
        compact,
      ),
    ),
    folded("Numbers behind the curves", () => numbers(columns, x.length)),
  );
}

function numbers(columns: Record<string, Num[]>, length: number): Child {
  // What never happens would make the table three times as wide.
  const names = Object.keys(columns).filter((name) => name !== "time_ns" && columns[name]?.some((value) => value));
  const stride = Math.ceil(length / TABLE_ROWS_MAX);
  const rows: Child[][] = [];
  for (let index = 0; index < length; index += stride) {
    rows.push([time(columns["time_ns"]?.[index]), ...names.map((name) => formatOf(name)(columns[name]?.[index]))]);
  }
  const caption = stride === 1 ? "Every interval, without columns of zeros" : `Every ${stride}th interval; result.json has all ${count(length)}, and columns of zeros`;
  return table(caption, ["time", ...names.map((name) => name.replace(/_ns$/, "").replaceAll("_", " "))], rows, { wide: true });
}

function formatOf(name: string): Format {
  if (name.endsWith("_ns")) return time;
  return name === "queue_depth" ? plain : count;
}
