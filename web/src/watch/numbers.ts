import { h } from "../dom";
import { NONE, type Format } from "../format";
import type { Num } from "../types";

export interface LiveNumber {
  element: HTMLElement;
  set: (value: Num | undefined) => void;
}

/** A number that changes in its place; `key` lets a script find it, its raw value is in `data-value`. */
export function number(key: string, format: Format): LiveNumber {
  const element = h("span", { class: "num", "data-key": key, "data-value": "" }, NONE);
  const set = (value: Num | undefined): void => {
    const text = format(value ?? null);
    if (element.textContent !== text) element.textContent = text;
    element.setAttribute("data-value", value === null || value === undefined ? "" : String(value));
  };
  return { element, set };
}
