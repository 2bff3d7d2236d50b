import { NONE, type Format } from "./format";
import type { Num, Run } from "./types";

export type Child = Node | string | number | null | undefined | false | Child[];
export type Attributes = Record<string, string | number | boolean | null | undefined>;

/** Creates an element; text is always inserted as text, so nothing in a result can become markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.append(child instanceof Node ? child : String(child));
  }
}

/** "a", "a and b", "a, b and c". */
export function listed(items: readonly Child[], last: "and" | "or" = "and"): Child {
  return items.map((item, index) => [index === 0 ? "" : index === items.length - 1 ? ` ${last} ` : ", ", item]);
}

/** Value at a path of the result; a path is a list because layer names may hold dots. */
export function lookup(run: Run, path: readonly string[]): Num {
  let here: unknown = run.result;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return null;
    here = (here as Record<string, unknown>)[key];
  }
  return typeof here === "number" ? here : null;
}

/** A number of the result as text, marked with its key and raw value so that a script can compare page and JSON. */
export function metric(run: Run, path: readonly string[], format: Format, title?: string | null): HTMLElement {
  return marked(run, path.join("."), lookup(run, path), format, title);
}

/** A number computed from the result. */
export function derived(run: Run, name: string, value: Num, format: Format): HTMLElement {
  return marked(run, `derived.${name}`, value, format);
}

function marked(run: Run, key: string, value: Num, format: Format, title?: string | null): HTMLElement {
  const text = format(value);
  const exact = value === null || text === NONE ? null : value.toLocaleString("en-US", { maximumFractionDigits: 6 });
  return h(
    "span",
    {
      class: "num",
      "data-key": key,
      "data-run": run.index,
      "data-value": value === null ? "" : String(value),
      title: title ?? exact,
    },
    text,
  );
}

export function section(run: Run | null, id: string, title: string, lead: Child, ...children: Child[]): HTMLElement {
  const full = run ? `run-${run.index}-${id}` : id;
  return h(
    "section",
    { id: full, "aria-labelledby": `${full}-title` },
    h("h2", { id: `${full}-title` }, title),
    lead ? h("p", { class: "lead" }, lead) : null,
    children,
  );
}

export function empty(text: string): HTMLElement {
  return h("p", { class: "empty" }, text);
}

/** A folded block whose contents are made when it is first opened. */
export function folded(summary: string, make: () => Child): HTMLDetailsElement {
  const details = h("details", {}, h("summary", {}, summary));
  details.addEventListener("toggle", () => append(details, [make()]), { once: true });
  return details;
}
