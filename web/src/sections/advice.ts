import { blamedFor, slowest, waitingShare, type View } from "../breakdown";
import { adviceOn, isCleaning, type Advice } from "../causes";
import { h, listed, type Child } from "../dom";
import { count, percent } from "../format";
import { causeChip } from "../parts/cause";
import type { Run } from "../types";

/** Of all reads and writes, by what their waiting goes back to. */
const VIEW: View = { scope: "both", blame: "root" };
/** With less waiting than this share of the latency there is nothing to be tried. */
const NEGLIGIBLE = 0.1;
/** A cause with this share of the latency speaks for itself; below it the second one is named as well. */
const MOST = 0.5;
const ADVICE_MAX = 3;

/** What the slowest requests waited for and what can be tried, in a sentence; null where no request was measured. */
export function advice(run: Run): HTMLElement | null {
  const { slice, name, requests } = slowest(run, VIEW.scope);
  const waited = waitingShare(run, VIEW, slice);
  if (waited === null || requests === 0) return null;
  const [first, second] = blamedFor(run, VIEW, slice);
  const subject = h("strong", {}, `${name} requests (${count(requests)})`);
  if (!first || waited < NEGLIGIBLE) {
    const own = `${percent(1 - waited)} of their time is their own flash and transfer time.`;
    return h("p", { class: "advice quiet" }, subject, ` hardly waited: ${own}`);
  }
  const named = (cause: string, share: number): Child => [causeChip(cause, "behindFor"), ` (${percent(share)} of their time)`];
  const also = first.share < MOST && second ? [", then for ", named(second.cause, second.share)] : null;
  const isOfStart = run.result.waf_absent !== null && isCleaning(first.cause);
  const proposals = isOfStart ? [] : proposalsFor(run, first.cause);
  return h(
    "p",
    { class: "advice" },
    subject,
    " waited most for ",
    named(first.cause, first.share),
    also,
    ", by root cause.",
    isOfStart ? " That work cleaned up the state that the drive began in (drive.precondition): this workload did not make it." : null,
    proposals.length > 0 ? [" Try ", listed(proposals.map((proposal) => worded(run, proposal)), "or"), "."] : null,
  );
}

/** What can be tried in this run: keys it does not read, and values that leave nothing to try, are left out. */
function proposalsFor(run: Run, cause: string): Advice[] {
  const { config, config_unused: unused } = run.result;
  return adviceOn(cause, run.result)
    .filter(({ key }) => !(unused ?? []).includes(key))
    .filter(({ key, unless }) => !(unless ?? []).includes(config?.[key] ?? ""))
    .slice(0, ADVICE_MAX);
}

function worded(run: Run, { change, key }: Advice): Child {
  const now = run.result.config?.[key];
  return [change, " (", h("code", { "data-advice": key }, key), now === undefined ? null : `, now ${now}`, ")"];
}
