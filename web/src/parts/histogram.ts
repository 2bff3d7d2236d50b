import { folded, h } from "../dom";
import { count } from "../format";
import { table } from "./table";

const BINS_MAX = 40;

interface Bin {
  low: number;
  high: number;
  count: number;
}

/** Equal bins of whole numbers over the range of the values. */
function binned(pairs: readonly [number, number][]): Bin[] {
  const low = Math.min(...pairs.map(([value]) => value));
  const high = Math.max(...pairs.map(([value]) => value));
  const width = Math.ceil((high - low + 1) / BINS_MAX);
  const bins = Array.from({ length: Math.ceil((high - low + 1) / width) }, (_, index): Bin => ({
    low: low + index * width,
    high: low + (index + 1) * width - 1,
    count: 0,
  }));
  for (const [value, times] of pairs) {
    const bin = bins[Math.floor((value - low) / width)];
    if (bin) bin.count += times;
  }
  return bins;
}

export function histogram(title: string, pairs: readonly [number, number][], quantity: string, items: string): HTMLElement {
  if (pairs.length === 0) return h("p", { class: "empty" }, `${title}: nothing recorded.`);
  const bins = binned(pairs);
  const top = Math.max(...bins.map((bin) => bin.count), 1);
  const rangeOf = (bin: Bin): string => (bin.low === bin.high ? count(bin.low) : `${count(bin.low)} to ${count(bin.high)}`);
  const filled = bins.filter((bin) => bin.count > 0);
  const columns = bins.map((bin) => {
    const column = h("div", { class: "column", title: `${rangeOf(bin)} ${quantity}: ${count(bin.count)} ${items}` });
    column.style.height = `${(bin.count / top) * 100}%`;
    return column;
  });
  const first = bins[0];
  const last = bins[bins.length - 1];
  return h(
    "figure",
    { class: "histogram" },
    h("figcaption", {}, title),
    h(
      "div",
      {
        class: "columns",
        role: "img",
        "aria-label": `${title}, at most ${count(top)} in a column. The table below gives the numbers.`,
      },
      columns,
    ),
    h(
      "div",
      { class: "columns-x", "aria-hidden": "true" },
      h("span", {}, count(first?.low)),
      h("span", {}, quantity),
      h("span", {}, count(last?.high)),
    ),
    folded("Numbers behind the columns", () =>
      table(
        title,
        [quantity, items],
        filled.map((bin) => [rangeOf(bin), count(bin.count)]),
      ),
    ),
  );
}
