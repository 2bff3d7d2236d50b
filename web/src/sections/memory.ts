import { derived, empty, h, metric, section, type Child } from "../dom";
import { count, percent, size } from "../format";
import { table } from "../parts/table";
import type { Run } from "../types";

/** A number of a table with a thin bar that shows the share. */
function meter(share: number, text: Child): Child {
  const fill = h("span", { class: "meter-fill" });
  fill.style.width = `${Math.min(1, Math.max(0, share)) * 100}%`;
  return [h("span", { class: "meter", "aria-hidden": "true" }, fill), h("span", { class: "meter-value" }, text)];
}

export function memory(run: Run): HTMLElement {
  const { ram_bytes: ram, cache } = run.result;
  const layers = Object.keys(ram ?? {});
  const total = layers.reduce((all, layer) => all + (ram[layer] ?? 0), 0);
  const caches = Object.keys(cache ?? {});
  return section(
    run,
    "memory",
    "Controller memory and caches",
    "RAM is the memory that each layer would need in a real controller, not the memory of the simulation.",
    h(
      "div",
      { class: "pair" },
      layers.length > 0
        ? table(
            "RAM by layer",
            ["Layer", "RAM", "Share"],
            [
              ...layers.map((layer): Child[] => {
                const share = total > 0 ? (ram[layer] ?? 0) / total : 0;
                return [layer, metric(run, ["ram_bytes", layer], size), meter(share, percent(share))];
              }),
              ["total", derived(run, "ram_bytes_total", total, size), ""],
            ],
          )
        : empty("No layer reported RAM."),
      caches.length > 0
        ? table(
            "Cache hits",
            ["Cache", "Hits", "Misses", "Hit ratio"],
            caches.map((layer): Child[] => [
              layer,
              metric(run, ["cache", layer, "hits"], count),
              metric(run, ["cache", layer, "misses"], count),
              meter(cache[layer]?.hit_ratio ?? 0, metric(run, ["cache", layer, "hit_ratio"], percent)),
            ]),
          )
        : empty("This stack has no cache."),
    ),
  );
}
