import uPlot from "uplot";
import { linesFromZero, logEnds, logLines, STEPS } from "../axis";
import { h } from "../dom";
import { NONE, type Format } from "../format";
import { ink, isPrinting, onRedraw } from "../theme";
import type { Num } from "../types";

export interface ChartSeries {
  label: string;
  /** A name of the palette. */
  color: string;
  dash?: number[];
  width?: number;
  values: Num[];
  /** Fills the area below the curve. */
  fill?: true;
  /** What the legend tells instead of the values: of stacked curves each one's own. */
  told?: Num[];
}

/** A value to be kept. */
export interface Limit {
  y: number;
  label: string;
}

export interface ChartSpec {
  title: string;
  /** What the picture shows, for a reader who cannot see it. */
  description: string;
  x: number[];
  xLabel: string;
  xFormat: Format;
  xAxis: Format;
  /** Positions of the x ticks for a plot of the given width; the default is uPlot's. */
  xTicks?: (width: number) => number[];
  xScale: "linear" | "log";
  xRange: [number, number];
  yScale: "linear" | "log";
  yFormat: Format;
  yAxis: Format;
  series: ChartSeries[];
  height: number;
  /** Charts with one key move their cursors together. */
  sync?: string;
  /** The point whose values the legend tells while nobody points at another one; without it the last one. */
  rest?: number;
  /** Values to be kept, as lines with their names. */
  limits?: readonly Limit[];
  /** A moment to be marked, and its name. */
  mark?: { x: number; label: string };
  /** A point of a curve was pressed: number of the series, and of the point. */
  onPick?: (series: number, point: number) => void;
  /** The numbers change by themselves: a part of them cannot be looked at closer. */
  moving?: boolean;
}

/** Pixels that fit a portrait A4 or Letter page within the print margins. */
const PRINT_WIDTH = 660;
/** Pixels: a tick, the gaps at both ends of its label, and the least width of an axis of values. */
const TICK = 5;
const LABEL_GAPS = 10;
const Y_AXIS_MIN = 40;
/** Height of the lower axis: its labels, and its name. */
const X_AXIS = 48;
/** Height that lines of the axis of values are about apart, as in figures. */
const APART = 40;
/** Room right of the area for half of the last label. */
const RIGHT = 34;

/** A chart that can be given other numbers. */
export interface LiveChart {
  element: HTMLElement;
  /** Draws the spec again, whose numbers, range and description were changed. */
  update: () => void;
}

export function chart(spec: ChartSpec): HTMLElement {
  return liveChart(spec).element;
}

export function liveChart(spec: ChartSpec): LiveChart {
  const host = h("div", { class: spec.onPick ? "plot picks" : "plot", role: "img", "aria-label": spec.description });
  let plot: uPlot | null = null;
  const draw = (): void => {
    // A hidden panel has no width; the observer calls again when it is shown.
    if (host.clientWidth === 0) return;
    const width = isPrinting() ? PRINT_WIDTH : host.clientWidth;
    plot?.destroy();
    plot = new uPlot(options(spec, width), data(spec), host);
    if (spec.onPick) pick(plot, spec.onPick);
  };
  const update = (): void => {
    host.setAttribute("aria-label", spec.description);
    plot?.setData(data(spec));
  };
  new ResizeObserver(() => {
    if (plot && host.clientWidth > 0 && !isPrinting()) plot.setSize({ width: host.clientWidth, height: spec.height });
    else if (!plot) draw();
  }).observe(host);
  onRedraw(draw);
  return { element: h("figure", { class: "chart" }, h("figcaption", {}, spec.title), host), update };
}

function data(spec: ChartSpec): uPlot.AlignedData {
  return [spec.x, ...spec.series.map((series) => series.values)];
}

/** Tells which curve was nearest to a press that was no drag. */
function pick(plot: uPlot, onPick: (series: number, point: number) => void): void {
  let down = 0;
  plot.over.addEventListener("pointerdown", (event) => (down = event.clientX));
  plot.over.addEventListener("click", (event) => {
    const { idx, top } = plot.cursor;
    if (Math.abs(event.clientX - down) > 4 || typeof idx !== "number" || top === undefined) return;
    const distance = (series: number): number => {
      const value = plot.data[series]?.[idx];
      return typeof value === "number" ? Math.abs(plot.valToPos(value, "y") - top) : Infinity;
    };
    const series = plot.series.map((_, index) => index).slice(1);
    const nearest = series.reduce((best, index) => (distance(index) < distance(best) ? index : best), 1);
    if (distance(nearest) < Infinity) onPick(nearest - 1, idx);
  });
}

function options(spec: ChartSpec, width: number): uPlot.Options {
  const grid = { stroke: ink("line"), width: 1 };
  const shared: uPlot.Axis = { stroke: ink("muted"), font: font(), grid, ticks: { ...grid, size: TICK } };
  const xAxis: uPlot.Axis = {
    ...shared,
    size: X_AXIS,
    space: 64,
    incrs: STEPS,
    values: (_plot, splits) => splits.map((value) => spec.xAxis(value)),
  };
  const { xTicks } = spec;
  if (xTicks) {
    xAxis.splits = (plot) => xTicks(plot.width);
    xAxis.filter = (_plot, splits) => splits;
  }
  // The largest value in sight, and how many parts of the axis there is room for.
  let most = 1;
  const parts = Math.round((spec.height - X_AXIS) / APART);
  const yAxis: uPlot.Axis = {
    ...shared,
    size: yAxisSize,
    splits: (_plot, _axis, low, high) => (spec.yScale === "log" ? logLines(low, high) : linesFromZero(most, parts)),
    filter: (_plot, splits) => splits,
    values: (_plot, splits) => splits.map((value) => spec.yAxis(value)),
  };
  const cursor: uPlot.Cursor = { drag: { x: !spec.moving, y: false, uni: 20 }, points: { size: 7 } };
  if (spec.sync) cursor.sync = { key: spec.sync };
  return {
    width,
    height: spec.height,
    hooks: {
      draw: [(plot) => write(plot, `${spec.xLabel} \u2192`), (plot) => spec.mark && mark(plot, spec.mark), (plot) => spec.limits?.forEach((limit) => limited(plot, limit))],
      ready: [(plot) => tell(plot, spec)],
      setData: [(plot) => tell(plot, spec)],
      setLegend: [(plot) => tell(plot, spec)],
    },
    cursor,
    padding: [8, RIGHT, 0, 0],
    legend: { markers: { dash: (_plot, index) => (spec.series[index - 1]?.dash?.length ? "dashed" : "solid") } },
    scales: {
      x: { time: false, distr: spec.xScale === "log" ? 3 : 1, range: (_plot, low, high) => xRange(spec, low, high) },
      y: { distr: spec.yScale === "log" ? 3 : 1, range: (_plot, low, high) => yRange(spec, low, high, (value) => linesFromZero((most = value), parts).at(-1) ?? 1) },
    },
    axes: [xAxis, yAxis],
    series: [
      { label: spec.xLabel, value: (_plot, value: Num) => (value === null ? NONE : spec.xFormat(value)) },
      ...spec.series.map((series): uPlot.Series => ({
        label: series.label,
        stroke: ink(series.color),
        width: series.width ?? 1.75,
        ...(series.fill ? { fill: ink(series.color) } : {}),
        points: { show: () => series.values.filter((value) => value !== null).length < 3, size: 6 },
        value: (_plot, value: Num, _series, point) => spec.yFormat(point === null ? null : (series.told ?? series.values)[point] ?? value),
        ...(series.dash ? { dash: series.dash } : {}),
      })),
    ],
  };
}

/** The letters of axes, for a canvas of so many pixels for each of the page. */
function font(scale = 1): string {
  return `${parseFloat(ink("axis-letters")) * scale}px ${ink("text")}`;
}

/** The name of the lower axis, below its end. */
function write({ ctx, bbox }: uPlot, name: string): void {
  ctx.save();
  ctx.fillStyle = ink("muted");
  ctx.font = font(devicePixelRatio);
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.fillText(name, bbox.left + bbox.width, bbox.top + bbox.height + (X_AXIS - 1) * devicePixelRatio);
  ctx.restore();
}

/** A dashed line between two points of the picture, and what is written in its colour. */
function dashed(ctx: CanvasRenderingContext2D, colour: string, dash: number, [x, y]: readonly [number, number], [toX, toY]: readonly [number, number], label: () => void): void {
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 1.5 * scale;
  ctx.setLineDash([dash * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(toX, toY);
  ctx.stroke();
  ctx.font = font(scale);
  label();
  ctx.restore();
}

/** A line through the picture, with its name at the top, on the side that has room. */
function mark(plot: uPlot, { x, label }: { x: number; label: string }): void {
  const { ctx, bbox } = plot;
  const at = plot.valToPos(x, "x", true);
  if (at < bbox.left || at > bbox.left + bbox.width) return;
  const scale = devicePixelRatio;
  const isRight = at > bbox.left + bbox.width / 2;
  dashed(ctx, ink("muted"), 4, [at, bbox.top], [at, bbox.top + bbox.height], () => {
    ctx.textBaseline = "top";
    ctx.textAlign = isRight ? "right" : "left";
    ctx.fillText(label, at + (isRight ? -4 : 4) * scale, bbox.top + 2 * scale);
  });
}

/** A line across the picture at a value to be kept, with its name above its end. */
function limited({ ctx, bbox, valToPos }: uPlot, { y, label }: Limit): void {
  const at = valToPos(y, "y", true);
  const scale = devicePixelRatio;
  const isBelow = at - bbox.top < 16 * scale;
  dashed(ctx, ink("bad"), 6, [bbox.left, at], [bbox.left + bbox.width, at], () => {
    ctx.textBaseline = isBelow ? "top" : "bottom";
    ctx.textAlign = "left";
    ctx.fillText(label, bbox.left + 6 * scale, at + (isBelow ? 3 : -3) * scale);
  });
}

const measure = document.createElement("canvas").getContext("2d");

/** As wide as its widest label, which would be cut otherwise and read as another number. */
function yAxisSize(_plot: uPlot, labels: string[] | null): number {
  if (!measure || !labels) return Y_AXIS_MIN;
  measure.font = font();
  const widths = labels.map((label) => measure.measureText(label ?? "").width);
  return Math.max(Y_AXIS_MIN, Math.ceil(Math.max(0, ...widths)) + TICK + LABEL_GAPS);
}

function xRange(spec: ChartSpec, low: number | null, high: number | null): [number, number] {
  // A zoomed range is kept; the full range is the spec's, so that charts of one section line up.
  const zoomed = low !== null && high !== null && high > low;
  const isFull = low === spec.x[0] && high === spec.x[spec.x.length - 1];
  return zoomed && !isFull ? [low, high] : spec.xRange;
}

/** From the first line below all values and limits to the first one above them. */
function yRange(spec: ChartSpec, low: number | null, high: number | null, lastLine: (most: number) => number): [number, number] {
  const limits = spec.limits?.map(({ y }) => y) ?? [];
  const top = Math.max(high ?? 0, ...limits);
  return spec.yScale === "log" ? logRange(low === null ? null : Math.min(low, ...limits), high === null ? null : top) : [0, lastLine(top || 1)];
}

/** Lets the legend tell the values at rest, where nobody points at any. */
function tell(plot: uPlot, { rest }: ChartSpec): void {
  const { idx } = plot.cursor;
  const idle = rest ?? (plot.data[0]?.length ?? 0) - 1;
  if (typeof idx === "number" || idle < 0) return;
  plot.setLegend({ idx: idle }, false);
}

function logRange(low: number | null, high: number | null): [number, number] {
  return low === null || high === null || low <= 0 ? [1e3, 1e6] : logEnds(low, high);
}
