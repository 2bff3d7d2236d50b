import { h, type Child } from "../dom";

export interface Tab {
  label: Child;
  panel: HTMLElement;
}

/** Tabs after the ARIA pattern: arrow keys, Home and End move, only the selected tab is in the tab order. */
export function tabs(label: string, list: readonly Tab[]): HTMLElement {
  const buttons = list.map(({ label: text, panel }, index) => {
    panel.id = `panel-${index}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${index}`);
    return h("button", { type: "button", role: "tab", id: `tab-${index}`, "aria-controls": panel.id }, text);
  });
  const select = (selected: number): void => {
    list.forEach(({ panel }, index) => {
      panel.hidden = index !== selected;
    });
    buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === selected));
      button.tabIndex = index === selected ? 0 : -1;
    });
  };
  const strip = h("div", { class: "tabs", role: "tablist", "aria-label": label }, buttons);
  buttons.forEach((button, index) => button.addEventListener("click", () => select(index)));
  strip.addEventListener("keydown", (event) => {
    const last = buttons.length - 1;
    const here = buttons.findIndex((button) => button === document.activeElement);
    const next = { ArrowLeft: here === 0 ? last : here - 1, ArrowRight: here === last ? 0 : here + 1, Home: 0, End: last }[
      event.key
    ];
    if (next === undefined) return;
    event.preventDefault();
    select(next);
    buttons[next]?.focus();
  });
  select(0);
  return h(
    "div",
    {},
    strip,
    list.map(({ panel }) => panel),
  );
}
