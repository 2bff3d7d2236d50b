import { empty, h, section, type Child } from "../dom";
import { table } from "../parts/table";
import type { Run } from "../types";
import { runLabel } from "./waiting";

type Entry = [key: string, value: string];

/** The resolved configuration, grouped by the first word of its keys: what was given is marked, what the run did not read is folded. */
export function configuration(run: Run): HTMLElement {
  const given = new Set(run.result.config_given ?? []);
  const unused = new Set(run.result.config_unused ?? []);
  const entries = Object.entries(run.result.config ?? {});
  // A key that was given and not read stays in sight: somebody thought that it would change something.
  const folded = entries.filter(([key]) => unused.has(key) && !given.has(key));
  const shown = entries.filter(([key]) => !unused.has(key) || given.has(key));
  const marks = entries.filter(([key]) => given.has(key)).length;
  const groups = (list: Entry[]): HTMLElement => h("div", { class: "config" }, grouped(list).map((group) => block(group, given, unused)));
  return section(
    run,
    "configuration",
    "Configuration",
    [
      "Every key as resolved; the same stack, workload and seed give the same hash on every machine.",
      marks > 0 ? [" ", mark("set"), ` marks what was given beside the stack: ${marks === 1 ? "1 key" : `${marks} keys`}.`] : null,
    ],
    shown.length > 0 ? groups(shown) : empty("No configuration was stored."),
    folded.length > 0
      ? h(
          "details",
          { class: "unused" },
          h("summary", {}, `${folded.length} keys that this run did not read, such as keys of layers that the stack does not have`),
          groups(folded),
        )
      : null,
  );
}

function grouped(entries: readonly Entry[]): [string, Entry[]][] {
  const groups = new Map<string, Entry[]>();
  for (const [key, value] of entries) {
    const dot = key.indexOf(".");
    const group = dot < 0 ? "other" : key.slice(0, dot);
    groups.set(group, [...(groups.get(group) ?? []), [key, value]]);
  }
  return [...groups];
}

function mark(text: string): HTMLElement {
  return h("span", { class: "mark" }, text);
}

function block([group, entries]: [string, Entry[]], given: ReadonlySet<string>, unused: ReadonlySet<string>): HTMLElement {
  const line = ([key, value]: Entry): HTMLElement => {
    const isGiven = given.has(key);
    const marks: Child = isGiven ? [" ", mark("set"), unused.has(key) ? [" ", mark("not read")] : null] : null;
    return h(
      "div",
      { class: isGiven ? "given" : null },
      h("dt", {}, h("code", {}, key), marks),
      h("dd", { "data-config": key }, h("code", {}, value)),
    );
  };
  return h("div", { class: "config-group" }, h("h3", {}, group), h("dl", {}, entries.map(line)));
}

/** The keys in which the runs differ: what a comparison compares. */
export function differences(runs: readonly Run[]): HTMLElement {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.result.config ?? {})))].sort();
  const rows = keys
    .map((key): { key: string; values: (string | undefined)[] } => ({ key, values: runs.map((run) => run.result.config?.[key]) }))
    .filter(({ values }) => new Set(values).size > 1)
    .map(({ key, values }): Child[] => [
      h("code", {}, key),
      ...values.map((value) => (value === undefined ? "\u2013" : h("code", {}, value))),
    ]);
  return section(
    null,
    "compare-configuration",
    "What differs",
    null,
    rows.length > 0
      ? table("Configuration keys that differ", ["Key", ...runs.map((run): Child => runLabel(run))], rows, { wide: true })
      : empty("All runs have the same configuration."),
  );
}
