import { derived, empty, h, metric, section, type Child } from "../dom";
import { count, percent, plain, size, type Format } from "../format";
import { heatmap, type HeatmapSpec } from "../parts/heatmap";
import { histogram } from "../parts/histogram";
import { table } from "../parts/table";
import { toggle } from "../parts/toggle";
import type { AddressMap, BlockMap, Num, Run } from "../types";

const SECTOR_BYTES = 512;

export function heatmaps(run: Run): HTMLElement {
  const { heatmaps: maps } = run.result;
  return section(
    run,
    "maps",
    "Maps of the drive",
    null,
    maps?.address && maps.address.rows * maps.address.address_bins > 0
      ? addressMap(maps.address)
      : empty("No address map was recorded."),
    maps?.valid && maps.valid.rows * maps.valid.columns > 0
      ? blockMap("Valid pages per block, end of run", maps.valid, "valid share of the block's pages", percent, [0, 1])
      : empty("No map of valid pages was recorded."),
    maps?.wear && maps.wear.rows * maps.wear.columns > 0
      ? blockMap("Erases per block, end of run", maps.wear, "erase count", count, null)
      : empty("No wear map was recorded."),
    wearSummary(run),
  );
}

function addressMap(map: AddressMap): HTMLElement {
  const holder = h("div");
  const draw = (op: "reads" | "writes"): void => holder.replaceChildren(heatmap(addressSpec(map, op)));
  const most = (values: Num[]): number => values.reduce<number>((top, value) => Math.max(top, value ?? 0), 0);
  const initial = most(map.writes) > 0 ? "writes" : "reads";
  draw(initial);
  const choices = [
    { value: "writes" as const, label: "Writes" },
    { value: "reads" as const, label: "Reads" },
  ];
  return h(
    "div",
    { class: "map-group" },
    h("div", { class: "controls" }, toggle("Host requests", choices, initial, draw)),
    holder,
  );
}

function addressSpec(map: AddressMap, op: "reads" | "writes"): HeatmapSpec {
  const values = map[op];
  const top = values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const bytes = map.sectors_per_bin * SECTOR_BYTES;
  return {
    title: `Addresses of ${op}, request after request`,
    description: `Host ${op} by address, from the first request to the last, at most ${count(top)} in a cell, colours on a logarithmic scale.`,
    rows: map.address_bins,
    columns: map.rows,
    upward: true,
    value: (row, column) => values[column * map.address_bins + row] || null,
    spread: (value) => Math.log(value),
    range: [1, Math.max(1, top)],
    format: count,
    missing: "nothing",
    rowName: (row) => `from ${size(row * bytes)}`,
    describe: (row, column, value) =>
      `requests ${count(column * map.requests_per_row + 1)} to ${count((column + 1) * map.requests_per_row)}, address ${size(row * bytes)} to ${size((row + 1) * bytes)}: ${count(value ?? 0)} ${op}`,
    yLabels: [size(map.address_bins * bytes), "address 0"],
    xLabels: ["first request", `request ${count(map.rows * map.requests_per_row)}`],
  };
}

function blockMap(title: string, map: BlockMap, quantity: string, format: Format, fixed: [number, number] | null): HTMLElement {
  return heatmap(blockMapSpec(title, map, quantity, format, fixed));
}

export function blockMapSpec(title: string, map: BlockMap, quantity: string, format: Format, fixed: [number, number] | null): HeatmapSpec {
  const known = map.values.filter((value) => value !== null);
  const low = known.reduce((least, value) => Math.min(least, value), known[0] ?? 0);
  const high = known.reduce((most, value) => Math.max(most, value), low);
  return {
    title,
    description: `${title}, one row per ${map.row_label}, one column per ${map.column_label}.`,
    rows: map.rows,
    columns: map.columns,
    upward: false,
    value: (row, column) => map.values[row * map.columns + column] ?? null,
    spread: (value) => value,
    range: fixed ?? [low, high],
    format,
    missing: "absent",
    rowName: (row) => `${map.row_label} ${row}`,
    describe: (row, column, value) =>
      `${map.row_label} ${row}, ${map.column_label} ${column}: ${value === null ? "no value" : `${quantity} ${format(value)}`}`,
    yLabels: [`${map.row_label} 0`, `${map.row_label} ${map.rows - 1}`],
    xLabels: [`${map.column_label} 0`, `${map.column_label} ${map.columns - 1}`],
  };
}

function wearSummary(run: Run): Child {
  const { wear } = run.result;
  const spread = wear.max !== null && wear.min !== null ? wear.max - wear.min : null;
  return h(
    "div",
    { class: "pair" },
    table(
      "Erase counts",
      ["", "Erases per block"],
      [
        ["least", metric(run, ["wear", "min"], count)],
        ["mean", metric(run, ["wear", "mean"], plain)],
        ["most", metric(run, ["wear", "max"], count)],
        ["spread", derived(run, "wear_spread", spread, count)],
      ],
    ),
    histogram("Blocks by erase count", wear.histogram ?? [], "erases", "blocks"),
  );
}
