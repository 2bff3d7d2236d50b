import { causesIn, shares, sum } from "../causes";
import { derived, empty, h, metric, section, type Child } from "../dom";
import { count, factor, percent, size } from "../format";
import { causeChip } from "../parts/cause";
import { stackedBars } from "../parts/stacked";
import { table } from "../parts/table";
import { OPERATIONS, operationName } from "../latencies";
import type { Run } from "../types";
import { wafMetric } from "./figures";

export function amplification(run: Run): HTMLElement {
  const { flash, waf, waf_absent: absent, merges } = run.result;
  const parts = shares(waf);
  const names = causesIn(flash.reads, flash.programs, flash.erases, waf);
  const programs = flash.programs.total ?? 0;
  const rows = names.map((cause): Child[] => [
    causeChip(cause),
    metric(run, ["flash", "reads", cause], count),
    metric(run, ["flash", "programs", cause], count),
    derived(run, `program_share.${cause}`, programs > 0 ? (flash.programs[cause] ?? 0) / programs : null, percent),
    metric(run, ["flash", "erases", cause], count),
    metric(run, ["waf", cause], factor),
    metric(run, ["waf_pages", cause], factor),
  ]);
  const total: Child[] = [
    "total",
    metric(run, ["flash", "reads", "total"], count),
    metric(run, ["flash", "programs", "total"], count),
    "",
    metric(run, ["flash", "erases", "total"], count),
    wafMetric(run),
    metric(run, ["waf_pages", "total"], factor),
  ];
  const merged = Object.values(merges ?? {}).some((value) => (value ?? 0) > 0);
  return section(
    run,
    "amplification",
    "Write amplification and flash work",
    "WAF is the bytes programmed for each byte that the host wrote, all causes, as the counters of a drive tell it. By pages, a write of a part of a page counts as a whole page. A buffer that absorbs writes can push both below 1.",
    parts.length > 0
      ? stackedBars(
          [{ label: "WAF", spoken: "Write amplification by cause", shares: parts, full: sum(parts), total: factor(waf.total) }],
          factor,
        )
      : empty(absent && programs > 0 ? `No write amplification: ${absent}.` : "Nothing was programmed."),
    table("Flash operations by cause", ["Cause", "Reads", "Programs", "Share of programs", "Erases", "WAF", "WAF by pages"], [...rows, total]),
    merged
      ? table(
          "Merges",
          ["Switch", "Partial", "Full"],
          [
            [
              metric(run, ["merges", "switch"], count),
              metric(run, ["merges", "partial"], count),
              metric(run, ["merges", "full"], count),
            ],
          ],
        )
      : null,
    hostTable(run),
  );
}

function hostTable(run: Run): HTMLElement {
  const ops = OPERATIONS.filter((op) => (run.result.host[op]?.requests ?? 0) > 0);
  if (ops.length === 0) return h("p", { class: "empty" }, "The host sent no request.");
  return table(
    "Host requests",
    ["Operation", "Requests", "Pages", "Bytes"],
    ops.map((op): Child[] => [
      operationName(op),
      metric(run, ["host", op, "requests"], count),
      metric(run, ["host", op, "pages"], count),
      metric(run, ["host", op, "bytes"], size),
    ]),
  );
}
