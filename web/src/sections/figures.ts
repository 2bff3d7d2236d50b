import { blamed, blamedFor, slowest, type Blamed } from "../breakdown";
import { derived, h, metric, section, type Child } from "../dom";
import { count, factor, percent, plain, rate } from "../format";
import { isCounted, latencyMetric, OPERATION_LABELS, tailKey, tellsNoCauses } from "../latencies";
import { causeChip } from "../parts/cause";
import type { Num, Run } from "../types";

/** The first screen's answers to "how fast, how slow, how much amplified", then why in words. */
export function figures(run: Run): HTMLElement {
  const words = verdicts(run);
  const flushes = run.result.latency_ns.flush?.count ?? 0;
  return section(
    run,
    "figures",
    "Key figures",
    null,
    h("div", { class: "tiles" }, throughput(run), latency(run, "read"), latency(run, "write"), flushes > 0 ? latency(run, "flush") : null, amplification(run)),
    words.length > 0
      ? h(
          "ul",
          { class: "verdicts" },
          words.map((verdict) => h("li", {}, verdict)),
        )
      : null,
  );
}

function tile(title: string, main: Child, unit: string, rest: [string, Child][]): HTMLElement {
  return h(
    "div",
    { class: "tile" },
    h("h3", {}, title),
    h("p", { class: "main-figure" }, main, unit ? h("span", { class: "unit" }, unit) : null),
    h(
      "dl",
      {},
      rest.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    ),
  );
}

function throughput(run: Run): HTMLElement {
  return tile(
    "Throughput",
    metric(run, ["iops"], (value) => ((value ?? 0) >= 100 ? count(value) : plain(value))),
    "IOPS",
    [
      ["Read", metric(run, ["bandwidth_bytes_per_s", "read"], rate)],
      ["Write", metric(run, ["bandwidth_bytes_per_s", "write"], rate)],
    ],
  );
}

function latency(run: Run, op: "read" | "write" | "flush"): HTMLElement {
  const title = `${OPERATION_LABELS[op]} latency`;
  if ((run.result.latency_ns[op]?.count ?? 0) === 0) {
    return h("div", { class: "tile" }, h("h3", {}, title), h("p", { class: "empty" }, op === "read" && run.result.unwritten_read_share ? "All reads were of unwritten pages" : `No ${op}s in this run`));
  }
  const key = isCounted(run) ? "p99" : tailKey(run, op);
  return tile(title, latencyMetric(run, op, key), key, [
    ["p50", latencyMetric(run, op, "p50")],
    ["p99.9", latencyMetric(run, op, "p999")],
  ]);
}

const ABSENT: Record<string, string> = {
  "no writes": "The host wrote nothing.",
  "too few writes": "The host wrote less than the spare flash holds: collection cleaned up the state that the drive began in.",
};

/** Write amplification; where there is none, why. */
export function wafMetric(run: Run): HTMLElement {
  const { waf_absent: absent } = run.result;
  return metric(run, ["waf", "total"], factor, absent === null ? null : (ABSENT[absent] ?? absent));
}

/** Share of all flash programs that garbage collection made; null when nothing was programmed. */
export function gcShare(run: Run): Num {
  const { programs } = run.result.flash;
  return programs.total ? (programs["gc"] ?? 0) / programs.total : null;
}

function amplification(run: Run): HTMLElement {
  const { waf_absent: absent } = run.result;
  return tile("Write amplification", wafMetric(run), absent ?? "WAF", [
    ["GC share", derived(run, "gc_share", gcShare(run), percent)],
    ["By pages", metric(run, ["waf_pages", "total"], factor)],
    ["Erases", metric(run, ["flash", "erases", "total"], count)],
  ]);
}

function verdicts(run: Run): Child[] {
  return [tail(run, "write"), tail(run, "read"), amplified(run)].filter((verdict) => verdict !== null);
}

function tail(run: Run, op: "read" | "write"): Child {
  const latency = run.result.latency_ns[op];
  if (!latency || latency.count === 0 || isCounted(run) || tellsNoCauses(run)) return null;
  const { slice, name, requests } = slowest(run, op);
  const root = blamedFor(run, { scope: op, blame: "root" }, slice);
  const direct = blamedFor(run, { scope: op, blame: "direct" }, slice);
  const subject = h("strong", {}, `${name} ${op}s (${count(requests)})`);
  const [first] = root;
  if (!first) return [subject, " waited for nothing: their time is their own flash and transfer time."];
  const [nearest] = direct;
  const before =
    nearest && nearest.cause !== first.cause
      ? [" Directly before them was mostly ", causeChip(nearest.cause, "short"), ` (${percent(nearest.share)}).`]
      : null;
  return [subject, " waited ", waitedFor(root), " by root cause.", before];
}

/** The root cause of what the slowest 1 % of an operation waited for, in a few words; null when nothing was. */
export function tailCause(run: Run, op: "read" | "write"): Child {
  const { slice } = slowest(run, op);
  const [first] = slice === "p99" ? blamedFor(run, { scope: op, blame: "root" }, slice) : [];
  return first ? [causeChip(first.cause, "behindFor"), ` ${percent(first.share)}`] : null;
}

/** One name when it explains most of the waiting, two when no single cause does. */
function waitedFor(causes: Blamed[]): Child {
  const named = (entry: Blamed): Child => [causeChip(entry.cause, "behindFor"), ` (${percent(entry.share)})`];
  const [first, second] = causes;
  if (!first) return null;
  if (first.share >= 0.5 || !second) return ["mostly for ", named(first)];
  return ["for ", named(first), " and ", named(second)];
}

function amplified(run: Run): Child {
  const { waf, flash } = run.result;
  if (waf.total === null || waf.total === undefined || !flash.programs.total) return null;
  const [first] = blamed(
    Object.entries(flash.programs)
      .filter(([cause]) => cause !== "total" && cause !== "host")
      .map(([cause, value]) => ({ cause, value: value ?? 0 })),
  );
  const cost = [h("strong", {}, "Each byte the host wrote"), ` cost ${factor(waf.total)} bytes of programs`];
  const extra = first ? (flash.programs[first.cause] ?? 0) / flash.programs.total : 0;
  return first && extra > 0 ? [cost, "; ", causeChip(first.cause), ` made ${percent(extra)} of them.`] : [cost, "."];
}
