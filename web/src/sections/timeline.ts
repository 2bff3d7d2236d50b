import { empty, folded, h, section, type Child } from "../dom";
import { axisTime, compact, count, plain, rate, time, type Format } from "../format";
import { chart, type ChartSeries } from "../parts/chart";
import { table } from "../parts/table";
import { CAUSES, causeInk } from "../causes";
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
    return { label: cause, color: causeInk(cause), values: [...stack], told, fill: true, width: 0.5 };
  });
  const waits = [...waitsIn(run, worst.at)].sort((a, b) => b.value - a.value);
  // What is hardly to be seen in the picture is no part of the answer.
  const told = waits.filter(({ value }) => value >= (waits[0]?.value ?? 0) / 50);
  const most = told.slice(0, 3).map(({ cause, value }) => `${time(value)} for ${cause}`);
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
  const start = x[0] ?? 0;
  const end = Math.max(x[x.length - 1] ?? 0, start + interval);
  const panel: Panel = (name, series, yFormat, yAxis, yScale = "linear", mark) =>
    chart({
      title: name,
      description: `${name} over simulated time: ${series.map((line) => line.label).join(", ")}. The table below gives the numbers.`,
      x,
      xLabel: "simulated time",
      xFormat: time,
      xAxis: axisTime,
      xScale: "linear",
      xRange: [start, end],
      yScale,
      yFormat,
      yAxis,
      series,
      height: 210,
      sync: `run-${run.index}`,
      ...(mark ? { mark } : {}),
    });
  return section(
    run,
    "timeline",
    title,
    [`One point per ${time(interval)} of simulated time.`, h("span", { class: "by-pointer" }, " Drag to zoom, double-click to see all.")],
    waiting(run, panel, show),
    h(
      "div",
      { class: "pair" },
      panel(
        "Throughput",
        [
          { label: "read", color: READ, values: perSecond("read_bytes") },
          { label: "write", color: WRITE, values: perSecond("write_bytes") },
        ],
        rate,
        (value) => (value ? rate(value).replace(/\.0+(?=\D)/, "") : "0"),
      ),
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
