import { causeInk, causeName, causeStyle, stripes, sum, type Share } from "../causes";
import { h, type Child } from "../dom";
import { percent, type Format } from "../format";

export interface Bar {
  label: Child;
  spoken: string;
  shares: readonly Share[];
  /** Value of a full-width bar. */
  full: number;
  total: Child;
}

export function stackedBars(bars: readonly Bar[], format: Format): HTMLElement {
  return h(
    "div",
    { class: "bars" },
    bars.map((bar) => row(bar, format)),
  );
}

function row(bar: Bar, format: Format): HTMLElement {
  const total = sum(bar.shares);
  const spoken = bar.shares.map((share) => `${causeName(share.cause)} ${percent(share.value / total)}`).join(", ") || "nothing";
  const track = h("div", { class: "track", role: "img", "aria-label": `${bar.spoken}: ${spoken}` });
  for (const share of bar.shares) track.append(segment(share, total, bar.full, format));
  return h(
    "div",
    { class: "bar" },
    h("div", { class: "bar-label" }, bar.label),
    track,
    h("div", { class: "bar-total" }, bar.total),
  );
}

function segment(share: Share, total: number, full: number, format: Format): HTMLElement {
  const part = percent(share.value / total);
  const width = full > 0 ? share.value / full : 0;
  const piece = h(
    "div",
    { class: `segment${stripes(share.cause)}`, title: `${causeName(share.cause)}: ${format(share.value)} (${part})` },
    // Words that do not fit wrap to a line outside the bar, so a narrow segment shows whole words or none.
    h("i"),
    h("span", {}, causeName(share.cause, "short")),
    h("span", {}, part),
  );
  piece.style.width = `${width * 100}%`;
  piece.style.backgroundColor = `var(--${causeInk(share.cause)})`;
  piece.style.color = causeStyle(share.cause).ink;
  return piece;
}
