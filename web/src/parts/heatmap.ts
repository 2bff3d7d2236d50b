import { append, folded, h, type Child } from "../dom";
import type { Format } from "../format";
import { ink } from "../theme";
import type { Num } from "../types";
import { table } from "./table";

export interface HeatmapSpec {
  title: string;
  description: string;
  rows: number;
  columns: number;
  /** Row 0 is drawn at the bottom when true. */
  upward: boolean;
  value: (row: number, column: number) => Num;
  /** Spreads values over the colours; must grow with its argument. */
  spread: (value: number) => number;
  range: [number, number];
  format: Format;
  /** What a cell without a value means: nothing happened there, or the drive has no such block. */
  missing: "nothing" | "absent";
  rowName: (row: number) => string;
  describe: (row: number, column: number, value: Num) => string;
  yLabels: [top: string, bottom: string];
  xLabels: [left: string, right: string];
}

type Colour = [red: number, green: number, blue: number];

/** The ramp of the palette, from the least value to the most. */
function stops(): Colour[] {
  const part = (name: string, from: number): number => parseInt(ink(name).slice(from, from + 2), 16);
  return Array.from({ length: 8 }, (_, stop): Colour => [part(`ramp-${stop}`, 1), part(`ramp-${stop}`, 3), part(`ramp-${stop}`, 5)]);
}

function mixed(ramp: readonly Colour[], share: number): Colour {
  const place = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const index = Math.min(ramp.length - 2, Math.floor(place));
  const low = ramp[index] ?? [0, 0, 0];
  const high = ramp[index + 1] ?? low;
  const rest = place - index;
  return [low[0] + (high[0] - low[0]) * rest, low[1] + (high[1] - low[1]) * rest, low[2] + (high[2] - low[2]) * rest];
}

/** A map that can be given other values. */
export interface LiveHeatmap {
  element: HTMLElement;
  /** Paints a map with as many rows and columns as the first. */
  update: (spec: HeatmapSpec) => void;
}

export function heatmap(spec: HeatmapSpec): HTMLElement {
  return liveHeatmap(spec).element;
}

export function liveHeatmap(first: HeatmapSpec): LiveHeatmap {
  let spec = first;
  const canvas = h("canvas", {
    width: spec.columns,
    height: spec.rows,
    tabindex: 0,
    role: "img",
    "aria-label": described(spec),
  });
  canvas.style.height = `${Math.min(280, Math.max(40, spec.rows * 12))}px`;
  paint(canvas, spec);
  const marker = h("div", { class: "heat-marker", hidden: true });
  const readout = h(
    "output",
    { class: "heat-readout", "aria-live": "polite" },
    "Point at a cell, or focus the map and use the arrow keys",
  );
  const again = follow(canvas, marker, readout, () => spec);
  const scale = h("div", { class: "heat-legend" }, legend(spec));
  const numbers = folded("Numbers behind the map", () => rowTable(spec));
  const update = (next: HeatmapSpec): void => {
    spec = next;
    canvas.setAttribute("aria-label", described(spec));
    paint(canvas, spec);
    scale.replaceChildren();
    append(scale, legend(spec));
    again();
    // Not under the hands of someone who is in it.
    if (numbers.open && !numbers.contains(document.activeElement)) numbers.lastElementChild?.replaceWith(rowTable(spec));
  };
  const element = h(
    "figure",
    { class: "heat" },
    h("figcaption", {}, spec.title),
    h(
      "div",
      { class: "heat-frame" },
      h("div", { class: "heat-y", "aria-hidden": "true" }, h("span", {}, spec.yLabels[0]), h("span", {}, spec.yLabels[1])),
      h("div", { class: spec.missing === "absent" ? "heat-canvas absent" : "heat-canvas" }, canvas, marker),
      h("div", { class: "heat-x", "aria-hidden": "true" }, h("span", {}, spec.xLabels[0]), h("span", {}, spec.xLabels[1])),
    ),
    h("div", { class: "heat-foot" }, scale, readout),
    numbers,
  );
  return { element, update };
}

function described(spec: HeatmapSpec): string {
  return `${spec.description} Arrow keys move over the cells.`;
}

/** One line per row of the map: the cells themselves are too many to read as text. */
function rowTable(spec: HeatmapSpec): HTMLElement {
  const lines = Array.from({ length: spec.rows }, (_, row) => {
    const cells = Array.from({ length: spec.columns }, (_, column) => spec.value(row, column)).filter((value) => value !== null);
    const mean = cells.length > 0 ? cells.reduce((all, value) => all + value, 0) / cells.length : null;
    const least = cells.length > 0 ? Math.min(...cells) : null;
    const most = cells.length > 0 ? Math.max(...cells) : null;
    return [spec.rowName(row), String(cells.length), spec.format(least), spec.format(mean), spec.format(most)];
  });
  return table(`${spec.title}, by row`, ["", "Cells with a value", "Least", "Mean", "Most"], lines);
}

function scaleOf(spec: HeatmapSpec): (value: number) => number {
  const low = spec.spread(spec.range[0]);
  const high = spec.spread(spec.range[1]);
  return (value) => (high > low ? (spec.spread(value) - low) / (high - low) : 0);
}

function paint(canvas: HTMLCanvasElement, spec: HeatmapSpec): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const scale = scaleOf(spec);
  const ramp = stops();
  const image = context.createImageData(spec.columns, spec.rows);
  for (let y = 0; y < spec.rows; y += 1) {
    const row = spec.upward ? spec.rows - 1 - y : y;
    for (let column = 0; column < spec.columns; column += 1) {
      const value = spec.value(row, column);
      // A cell without a value stays transparent and shows the frame behind the canvas.
      if (value === null) continue;
      image.data.set([...mixed(ramp, scale(value)), 255], (y * spec.columns + column) * 4);
    }
  }
  context.putImageData(image, 0, 0);
}

function legend(spec: HeatmapSpec): Child[] {
  const steps = Array.from({ length: 8 }, (_, stop) => `var(--ramp-${stop})`).join(", ");
  const ramp = h("span", { class: "ramp", "aria-hidden": "true" });
  ramp.style.backgroundImage = `linear-gradient(90deg, ${steps})`;
  const absent = spec.missing === "absent";
  return [
    spec.format(spec.range[0]),
    ramp,
    spec.format(spec.range[1]),
    h("span", { class: absent ? "absent-swatch" : "blank-swatch", "aria-hidden": "true" }),
    absent ? "no usable block" : "none",
  ];
}

/** What shows the cell again that was shown last, if one was. */
function follow(canvas: HTMLCanvasElement, marker: HTMLElement, readout: HTMLElement, of: () => HeatmapSpec): () => void {
  let row = 0;
  let column = 0;
  const show = (nextRow: number, nextColumn: number): void => {
    const spec = of();
    row = Math.min(spec.rows - 1, Math.max(0, nextRow));
    column = Math.min(spec.columns - 1, Math.max(0, nextColumn));
    const y = spec.upward ? spec.rows - 1 - row : row;
    marker.hidden = false;
    marker.style.left = `${(column / spec.columns) * 100}%`;
    marker.style.top = `${(y / spec.rows) * 100}%`;
    marker.style.width = `${100 / spec.columns}%`;
    marker.style.height = `${100 / spec.rows}%`;
    readout.textContent = spec.describe(row, column, spec.value(row, column));
  };
  canvas.addEventListener("pointermove", (event) => {
    const spec = of();
    const box = canvas.getBoundingClientRect();
    const y = Math.floor(((event.clientY - box.top) / box.height) * spec.rows);
    show(spec.upward ? spec.rows - 1 - y : y, Math.floor(((event.clientX - box.left) / box.width) * spec.columns));
  });
  canvas.addEventListener("focus", () => show(row, column));
  canvas.addEventListener("keydown", (event) => {
    const up = of().upward ? 1 : -1;
    const step = { ArrowUp: [up, 0], ArrowDown: [-up, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    show(row + (step[0] ?? 0), column + (step[1] ?? 0));
  });
  return () => {
    // The readout is spoken: it changes by itself only for who points at the map.
    if (!marker.hidden && canvas.matches(":hover")) show(row, column);
  };
}
