import { h, type Child } from "../dom";
import { isPrinting, onRedraw } from "../theme";

/** Windows up to so many pixels are phones: there a table that is too wide becomes cards. */
const PHONE = 700;
/** Width of the page on paper and size of the letters of tables there (page.css), pixels. */
const PAPER = 660;
const PAPER_LETTERS = 11;
/** With more rows cards would be an endless column: such a table is scrolled sideways. */
const CARDS_MAX = 60;

export interface TableOptions {
  /** Takes all of its place, however little is in it. */
  wide?: boolean;
  /** Its values are short: cards have several in a line. */
  short?: boolean;
}

/**
 * A table; the first column is the row header. Where it is wider than its place, a phone (and paper) shows each row as a card with the
 * names of the columns in it, and everything else a scroll bar with a line that says so: no column is out of reach. Paper, which does not
 * scroll, says where the numbers of a long table are.
 */
export function table(caption: string, head: Child[], rows: Child[][], options: TableOptions = {}): HTMLElement {
  const columns = head.map((cell) => h("th", { scope: "col", role: "columnheader" }, cell));
  const names = columns.map((cell) => cell.textContent ?? "");
  const grid = h(
    "table",
    { role: "table", class: options.short ? "numbers" : "numbers long" },
    h("caption", {}, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns)),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map(([first, ...rest]) =>
        h(
          "tr",
          { role: "row" },
          h("th", { scope: "row", role: "rowheader" }, first),
          rest.map((cell, column) => h("td", { role: "cell", "data-label": names[column + 1] }, h("span", { class: "value" }, cell))),
        ),
      ),
    ),
  );
  const scroller = h(
    "div",
    { class: options.wide ? "table fill" : "table", tabindex: 0, role: "region", "aria-label": caption },
    grid,
  );
  const hint = h("p", { class: "scroll-hint", hidden: true });
  fit(scroller, grid, hint, names.length, rows.length);
  return h("div", { class: "table-frame" }, hint, scroller);
}

/** Shows the table as cards, or the hint that it scrolls, whenever its place becomes too narrow for it. */
function fit(scroller: HTMLElement, grid: HTMLElement, hint: HTMLElement, columns: number, rows: number): void {
  const update = (): void => {
    if (scroller.clientWidth === 0) return;
    grid.classList.remove("cards");
    const isWide = scroller.scrollWidth > scroller.clientWidth + 1;
    const isTooWide = isPrinting() ? paperWidth(scroller) > PAPER : isWide;
    const isCards = isTooWide && rows <= CARDS_MAX && (isPrinting() || innerWidth <= PHONE);
    grid.classList.toggle("cards", isCards);
    hint.hidden = !isTooWide || isCards;
    hint.textContent = isPrinting()
      ? `${columns} columns and ${rows} rows do not fit on paper: the page and result.json have them.`
      : `Scroll the table sideways: it has ${columns} columns \u2192`;
    scroller.classList.toggle("off-paper", isPrinting() && !hint.hidden);
  };
  // In a frame of its own: cards are higher than the table, and an observer must not change what it observes.
  new ResizeObserver(() => requestAnimationFrame(update)).observe(scroller);
  onRedraw(update);
}

/** Width that the cells will need on paper: they are asked while the window still has the letters of the screen. */
function paperWidth(scroller: HTMLElement): number {
  scroller.style.width = "max-content";
  const width = scroller.scrollWidth;
  scroller.style.width = "";
  const cell = scroller.querySelector("td") ?? scroller;
  return (width * PAPER_LETTERS) / parseFloat(getComputedStyle(cell).fontSize);
}
