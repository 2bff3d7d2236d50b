import { empty, h } from "../dom";
import { compact, percent } from "../format";
import { liveHeatmap, type HeatmapSpec, type LiveHeatmap } from "../parts/heatmap";
import { blockMapSpec } from "../sections/heatmaps";
import type { BlockMap } from "../types";
import type { Maps } from "./types";

interface Shown {
  map: LiveHeatmap;
  shape: string;
}

function place(spec: (map: BlockMap) => HeatmapSpec, nothing: string): { element: HTMLElement; update: (map: BlockMap | null) => void } {
  const element = h("div", {}, empty(nothing));
  let shown: Shown | null = null;
  const update = (map: BlockMap | null): void => {
    if (!map || map.rows * map.columns === 0) {
      element.replaceChildren(empty(nothing));
      shown = null;
      return;
    }
    const shape = `${map.rows} ${map.columns}`;
    if (shown?.shape === shape) {
      shown.map.update(spec(map));
      return;
    }
    shown = { map: liveHeatmap(spec(map)), shape };
    element.replaceChildren(shown.map.element);
  };
  return { element, update };
}

/** Which blocks hold valid pages, and how often each was erased. */
export function maps(): { element: HTMLElement; update: (maps: Maps) => void } {
  const valid = place((map) => blockMapSpec("Valid pages per block", map, "valid share of the block's pages", percent, [0, 1]), "Without power nobody knows which pages are valid.");
  const wear = place((map) => blockMapSpec("Erases per block", map, "erases", compact, null), "There is no map of erases.");
  const element = h("div", { class: "map-group" }, valid.element, wear.element);
  return {
    element,
    update: (told) => {
      valid.update(told.valid);
      wear.update(told.wear);
    },
  };
}
