import { h } from "../dom";

export interface Choice<T extends string> {
  value: T;
  label: string;
}

let groups = 0;

/** A row of radio buttons: keyboard and screen readers get it for free. */
export function toggle<T extends string>(
  label: string,
  choices: readonly Choice<T>[],
  initial: T,
  onChange: (value: T) => void,
): HTMLElement {
  groups += 1;
  const name = `toggle-${groups}`;
  const row = h("fieldset", { class: "toggle" }, h("legend", {}, label));
  for (const choice of choices) {
    const input = h("input", { type: "radio", name, value: choice.value, checked: choice.value === initial });
    input.addEventListener("change", () => onChange(choice.value));
    row.append(h("label", {}, input, h("span", {}, choice.label)));
  }
  return row;
}
