import { causeInk, causeName, causeStyle, stripes } from "../causes";
import { h } from "../dom";
import { openOnPaper } from "../theme";

/** Distance between a chip and its explanation, and between that and the edge of the window, pixels. */
const GAP = 6;

/** One explanation is open at a time, so all chips share its place; the browser closes it on Escape or a press elsewhere. */
const bubble = h("div", { class: "bubble", popover: "auto", role: "status" });

function explain(chip: HTMLElement, text: string): void {
  // An old browser has no popovers: there the list of meanings and the title have to do.
  if (!bubble.showPopover) return;
  if (!bubble.isConnected) document.body.append(bubble);
  bubble.textContent = text;
  bubble.showPopover();
  const at = chip.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  bubble.style.left = `${Math.max(GAP, Math.min(at.left, width - bubble.offsetWidth - GAP)) + scrollX}px`;
  bubble.style.top = `${at.bottom + GAP + scrollY}px`;
}

function swatch(cause: string): HTMLElement {
  const square = h("span", { class: `swatch${stripes(cause)}`, "aria-hidden": "true" });
  square.style.backgroundColor = `var(--${causeInk(cause)})`;
  return square;
}

/** The name of a cause in its colour; pressing it (or Enter) shows what it means. */
export function causeChip(cause: string, place: "name" | "short" | "behindFor" = "name"): HTMLElement {
  const name = causeName(cause, place);
  const { meaning } = causeStyle(cause);
  if (!meaning) return h("span", { class: "cause" }, swatch(cause), name);
  const chip = h("button", { type: "button", class: "cause", title: meaning }, swatch(cause), name);
  chip.addEventListener("click", () => explain(chip, meaning));
  return chip;
}

export function causeLegend(causes: readonly string[]): HTMLElement {
  return h(
    "ul",
    { class: "legend", "aria-label": "Causes" },
    causes.map((cause) => h("li", {}, causeChip(cause))),
  );
}

/** What causes mean, as a list that can be read at once, and that paper shows too. */
export function causeMeanings(causes: readonly string[]): HTMLElement {
  const list = h(
    "details",
    { class: "meanings" },
    h("summary", {}, "Meaning of the causes"),
    h(
      "dl",
      {},
      causes.map((cause) => h("div", {}, h("dt", {}, swatch(cause), causeName(cause)), h("dd", {}, causeStyle(cause).meaning || "Not known to this page."))),
    ),
  );
  openOnPaper(list);
  return list;
}
