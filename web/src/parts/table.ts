import { h, type Child } from "../dom";

/** A table that scrolls inside its own box on a narrow screen; the first column is the row header. */
export function table(caption: string, head: Child[], rows: Child[][], options: { wide?: boolean } = {}): HTMLElement {
  const grid = h(
    "table",
    {},
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((cell) => h("th", { scope: "col" }, cell)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map(([first, ...rest]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, first),
          rest.map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
  return h("div", { class: options.wide ? "table wide" : "table", tabindex: 0, role: "region", "aria-label": caption }, grid);
}
