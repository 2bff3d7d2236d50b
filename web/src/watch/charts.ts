import { h } from "../dom";
import type { Format } from "../format";
import { liveChart, type ChartSeries, type ChartSpec } from "../parts/chart";
import type { Num } from "../types";
import type { Part } from "./figures";
import type { Live } from "./types";

/** Seconds that the charts reach back, and those they show at least. */
const REACH = 300;
const LEAST = 60;

/** A line, and its value by the last answers. */
export interface Curve {
  label: string;
  /** A name of the palette. */
  color: string;
  dash?: number[];
  of: (answers: readonly Live[]) => Num;
}

export interface Panel {
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

/** The last minutes as curves. */
export function charts(panels: readonly Panel[]): Part & { clear: () => void } {
  const seen: number[] = [];
  const drawn = panels.map((panel) => {
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
        const value = panel.curves[index]?.of(answers) ?? null;
        // Zero, as of a write that a buffer takes at once, has no place on a logarithmic axis.
        const drawn = panel.scale === "log" && value === 0 ? null : value;
        series.values = [...series.values, drawn].slice(-seen.length);
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
