import { h } from "../dom";
import { axisTime, compact, plain, rate, time, type Format } from "../format";
import { liveChart, type ChartSeries, type ChartSpec } from "../parts/chart";
import { ink } from "../theme";
import type { Num, Op } from "../types";
import type { Part } from "./figures";
import { depth, perSecond, recent } from "./interval";
import type { Live } from "./types";

/** Seconds that the charts reach back, and those they show at least. */
const REACH = 300;
const LEAST = 60;

interface Curve {
  label: string;
  color: () => string;
  dash?: number[];
  of: (answers: readonly Live[]) => Num;
}

interface Panel {
  title: string;
  curves: Curve[];
  format: Format;
  axis: Format;
  scale: "linear" | "log";
}

const ago: Format = (value) => {
  if (typeof value !== "number") return "";
  const back = Math.round(-value);
  return back === 0 ? "now" : back % 60 === 0 ? `-${back / 60} min` : `-${back} s`;
};

const speed =
  (of: (live: Live) => number) =>
  (answers: readonly Live[]): Num => {
    const [older, newer] = [answers.at(-2), answers.at(-1)];
    return older && newer ? perSecond(newer, older, of) : null;
  };

const latency = (op: Op, colour: () => string): Curve[] =>
  [
    { label: "p50", key: "p50" },
    { label: "p99", key: "p99", dash: [6, 3] },
    { label: "p99.9", key: "p999", dash: [2, 3] },
  ].map(({ label, key, ...rest }) => ({ label, color: colour, of: (answers) => recent(answers, op, key), ...rest }));

const read = (): string => ink().read;
const write = (): string => ink().write;

const PANELS: readonly Panel[] = [
  {
    title: "Requests a second",
    curves: [
      { label: "read", color: read, of: speed((live) => live.requests.read.requests) },
      { label: "write", color: write, dash: [6, 3], of: speed((live) => live.requests.write.requests) },
      { label: "trim, flush", color: () => ink().text, dash: [2, 3], of: speed((live) => live.requests.trim.requests + live.requests.flush.requests) },
    ],
    format: plain,
    axis: compact,
    scale: "linear",
  },
  {
    title: "Bytes a second",
    curves: [
      { label: "read", color: read, of: speed((live) => live.requests.read.bytes) },
      { label: "write", color: write, dash: [6, 3], of: speed((live) => live.requests.write.bytes) },
    ],
    format: rate,
    axis: compact,
    scale: "linear",
  },
  { title: "Latency of writes", curves: latency("write", write), format: time, axis: axisTime, scale: "log" },
  { title: "Latency of reads", curves: latency("read", read), format: time, axis: axisTime, scale: "log" },
  {
    title: "Queue depth, mean",
    curves: [
      {
        label: "requests",
        color: () => ink().text,
        of: (answers) => {
          const [older, newer] = [answers.at(-2), answers.at(-1)];
          return older && newer ? depth(newer, older) : null;
        },
      },
    ],
    format: plain,
    axis: compact,
    scale: "linear",
  },
  {
    title: "Flash programs a second",
    curves: [
      { label: "host", color: () => ink().host, of: speed((live) => live.flash.programs["host"] ?? 0) },
      { label: "gc", color: () => ink().gc, dash: [6, 3], of: speed((live) => live.flash.programs["gc"] ?? 0) },
    ],
    format: plain,
    axis: compact,
    scale: "linear",
  },
];

/** The last minutes as curves. */
export function charts(): Part & { clear: () => void } {
  const seen: number[] = [];
  const drawn = PANELS.map((panel) => {
    const series = panel.curves.map((curve): ChartSeries => ({
      label: curve.label,
      color: curve.color,
      values: [],
      ...(curve.dash ? { dash: curve.dash } : {}),
    }));
    const spec: ChartSpec = {
      title: panel.title,
      description: panel.title,
      x: [],
      xLabel: "time",
      xFormat: ago,
      xAxis: ago,
      xScale: "linear",
      xRange: [-LEAST, 0],
      yScale: panel.scale,
      yFormat: panel.format,
      yAxis: panel.axis,
      series,
      height: 190,
      moving: true,
    };
    return { panel, spec, chart: liveChart(spec) };
  });
  const update = (answers: readonly Live[]): void => {
    const newest = answers.at(-1);
    if (!newest || answers.length < 2) return;
    const now = newest.wall_s;
    seen.push(now);
    const old = seen.findIndex((wall) => wall >= now - REACH);
    seen.splice(0, old);
    const x = seen.map((wall) => wall - now);
    for (const { panel, spec, chart } of drawn) {
      spec.series.forEach((series, index) => {
        series.values = [...series.values, panel.curves[index]?.of(answers) ?? null].slice(-seen.length);
      });
      spec.x = x;
      spec.xRange = [-Math.max(LEAST, Math.ceil(-(x[0] ?? 0) / 30) * 30), 0];
      const last = spec.series.map(({ label, values }) => `${label} ${panel.format(values.at(-1))}`).join(", ");
      spec.description = `${panel.title} over the last ${Math.round(-(x[0] ?? 0))} seconds. Now: ${last}.`;
      chart.update();
    }
  };
  const clear = (): void => {
    seen.length = 0;
    for (const { spec } of drawn) for (const series of spec.series) series.values = [];
  };
  const element = h("div", { class: "pair" }, drawn.map(({ chart }) => chart.element));
  return { element, update, clear };
}
