import { empty, h, section, type Child } from "../dom";
import { table } from "../parts/table";
import type { Run } from "../types";
import { runLabel } from "./waiting";

/** The resolved configuration, grouped by the first word of its keys. */
export function configuration(run: Run): HTMLElement {
  const groups = new Map<string, [string, string][]>();
  for (const [key, value] of Object.entries(run.result.config ?? {})) {
    const dot = key.indexOf(".");
    const group = dot < 0 ? "other" : key.slice(0, dot);
    groups.set(group, [...(groups.get(group) ?? []), [key, value]]);
  }
  const blocks = [...groups].map(([group, entries]) =>
    h(
      "div",
      { class: "config-group" },
      h("h3", {}, group),
      h(
        "dl",
        {},
        entries.map(([key, value]) =>
          h("div", {}, h("dt", {}, h("code", {}, key)), h("dd", { "data-config": key }, h("code", {}, value))),
        ),
      ),
    ),
  );
  return section(
    run,
    "configuration",
    "Configuration",
    "Every key as resolved; the same stack, workload and seed give the same hash on every machine.",
    blocks.length > 0 ? h("div", { class: "config" }, blocks) : empty("No configuration was stored."),
  );
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
