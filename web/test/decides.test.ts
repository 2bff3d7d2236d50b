/** What a reader decides by: the answer first, then its grounds, then what to do. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { RepeatedFigure, Result } from "../src/types";
import { Browser, MISSING, writePage, type Opened } from "./page";
import { sample } from "./sample";

const DESK = { width: 1400, height: 900, scheme: "light" } as const;

const plain = (text: string | null): string => (text ?? "").replaceAll("\u202f", " ").replace(/\s+/g, " ").trim();

describe("a page that decides", { skip: MISSING }, () => {
  let browser: Browser;
  let pages = 0;
  before(async () => {
    browser = await Browser.start();
  });
  after(() => browser?.close());

  async function open(results: Result[], notes: string[] = [], answer: object | null = null): Promise<Opened> {
    pages += 1;
    return browser.open(await writePage(browser.folder, `decides-${pages}.html`, results, notes, answer), DESK);
  }

  const page = (): Result => sample({ stack: "page", seed: 7, pressure: 1 });

  test("shows notes in three ranks, of which only doubts are open", async () => {
    const notes = ["Doubt: the queue grew.", "drive.precondition = steady was chosen: a reason.", "Over-provisioning: 7 %."];
    const ranked: Result = { ...page(), defaults: [], notes: [notes[2]!, notes[0]!, notes[1]!], note_ranks: ["detail", "doubt", "chosen"] };
    const { page: shown } = await open([ranked]);
    const groups = shown.locator(".ranks > details");
    assert.deepEqual(await groups.locator("summary").allTextContents(), ["Doubts about the result (1)", "Chosen for you (1)", "Details (1)"]);
    assert.deepEqual(await groups.locator("li").allTextContents(), notes);
    assert.deepEqual(await groups.evaluateAll((all) => all.map((one) => (one as HTMLDetailsElement).open)), [true, false, false]);
    await shown.emulateMedia({ media: "print" });
    await shown.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.deepEqual(await groups.evaluateAll((all) => all.map((one) => (one as HTMLDetailsElement).open)), [true, true, true], "paper has all of them");
    await shown.close();
    const { page: ended } = await open([{ ...ranked, status: "worn-out" }]);
    assert.match(plain(await ended.locator(".ranks [data-rank=doubt] li").first().textContent()), /^The drive wore out/);
    await ended.close();
  });

  test("tells the values of curves without a pointer", async () => {
    const { page: shown, complaints } = await open([page()]);
    const legends = async (section: string): Promise<string[]> => shown.locator(`#run-0-${section} .u-legend`).allInnerTexts();
    const [percentiles] = await legends("latency");
    assert.match(plain(percentiles ?? ""), /^percentile:? ?99 % read:? ?[\d.]+ .?s write:? ?[\d.]+ .?s$/);
    const overTime = (await legends("timeline")).map(plain);
    assert.ok(overTime.length >= 6 && overTime.every((text) => /simulated time:? ?[\d.]+ .?s/.test(text)), overTime.join("|"));
    // A pointer tells another point, and the values come back when it leaves.
    const plot = shown.locator("#run-0-latency .u-over").first();
    await plot.hover({ position: { x: 40, y: 40 } });
    assert.notEqual((await legends("latency"))[0], percentiles);
    await shown.mouse.move(2, 2);
    await shown.waitForTimeout(50);
    assert.equal((await legends("latency"))[0], percentiles);
    assert.deepEqual(complaints, []);
    await shown.close();
  });

  test("draws write amplification and free blocks beside latency, over the same time", async () => {
    const { page: shown } = await open([page()]);
    const titles = await shown.locator("#run-0-timeline figcaption").allTextContents();
    const beside = titles.slice(titles.indexOf("Latency"));
    assert.deepEqual(beside.slice(0, 4), ["Latency", "Write amplification, mean of five intervals", "Throughput", "Free blocks"]);
    const waf = plain(await shown.locator("#run-0-timeline figure", { hasText: "Write amplification" }).locator(".u-legend").innerText());
    assert.match(waf, /WAF:? ?\d/);
    await shown.close();
    // An older result has no such column, and a run that wrote too little no amplification.
    const untold = page();
    delete untold.series.columns["free_blocks"];
    untold.waf = { ...untold.waf, total: null };
    const { page: without } = await open([untold]);
    assert.ok(!/Write amplification,|Free blocks/.test((await without.locator("#run-0-timeline figcaption").allTextContents()).join()));
    await without.close();
  });

  test("has the latency of flushes among its key figures where the host flushes", async () => {
    const flushing = page();
    flushing.latency_ns.flush = { ...flushing.latency_ns.write, count: 5_000 };
    const { page: shown } = await open([flushing]);
    assert.ok(await shown.locator("#run-0-figures .tile", { hasText: "Flush latency" }).isVisible());
    await shown.close();
    const { page: without } = await open([page()]);
    assert.equal(await without.locator("#run-0-figures .tile", { hasText: "Flush latency" }).count(), 0);
    await without.close();
  });

  test("calls the wait for space by what is waited for", async () => {
    const waiting = page();
    waiting.waiting_root.p99 = { space: 9e6 };
    const { page: shown } = await open([waiting]);
    assert.match(plain(await shown.locator(".run-header .advice").textContent()), /waited most for a free block \(\d+ %/);
    assert.ok((await shown.locator("#run-0-why .legend").allTextContents()).join().includes("waiting for a free block"));
    const words = await shown.locator("#run-0-why, #run-0-figures, #run-0-requests").allInnerTexts();
    assert.ok(!words.some((text) => /\bfor space\b|\bspace \d/.test(text)), words.join());
    await shown.close();
  });

  test("says whether limits are kept, and draws them", async () => {
    const limited: Result = {
      ...page(),
      limits: [
        { limit: "waf > 100", figure: "waf", of: "page", value: 3.2, bound: 100, fails: false },
        { limit: "write.p99 > 5ms", figure: "write_p99_ns", of: "page", value: 9_800_000, bound: 5_000_000, fails: true },
      ],
    };
    const { page: shown } = await open([limited]);
    const told = (await shown.locator(".run-header .limits li").allTextContents()).map(plain);
    assert.deepEqual(told, ["Limit reached: write.p99 > 5ms, it is 9.80 ms.", "Limit kept: waf > 100, it is 3.20."]);
    assert.ok((await Browser.drawn(shown)).some(({ text }) => text === "fails if write.p99 > 5ms"));
    await shown.close();
    const { page: without } = await open([page()]);
    assert.equal(await without.locator(".limits").count(), 0);
    await without.close();
  });

  /** A run with repetitions: means of figures with halves of their intervals, and ratios to the first run. */
  function repeated(stack: string, against: string | null, iops: [number, number], p999: [number, number], ratios: [number, number, number][]): Result {
    const result = sample({ stack, seed: 7, pressure: 1 });
    const figure = (metric: string, [mean, half]: [number, number], at: number): RepeatedFigure => {
      const [low, middle, high] = ratios[at] ?? [1, 1, 1];
      const differs = low > 1 ? "higher" : high < 1 ? "lower" : "cannot be told";
      const ratio = against ? { low, middle, high, shown: `${middle} (${low} to ${high})` } : null;
      return { metric, name: metric, mean, half, shown: `${mean} \u00b1${half}`, ratio, differs: against ? differs : null, better: null };
    };
    result.hash = stack;
    for (const op of ["read", "flush"] as const) result.latency_ns[op] = { ...result.latency_ns.flush, count: 0 };
    return { ...result, waf: { ...result.waf, total: null }, repeated: { count: 5, against, figures: [figure("iops", iops, 0), figure("write_p999_ns", p999, 1)], sentence: `${stack} in words.` } };
  }

  const first = (): Result => repeated("page", null, [800, 10], [300, 20], []);

  test("compares under a title of names cut to what differs, and names the winner beyond the intervals", async () => {
    const fifo = repeated("page+ftl.gc.victim=fifo", "page", [500, 10], [700, 50], [[0.6, 0.63, 0.66], [2, 2.3, 2.7]]);
    const { page: shown, complaints } = await open([first(), fifo]);
    assert.equal(plain(await shown.locator("#verdict .headline").textContent()), "page against ftl.gc.victim=fifo under mixed");
    assert.equal(plain(await shown.locator("#verdict .verdict").textContent()), "Winner: A page. Best in requests a second (800 \u00b110) and writes at the tail (p99.9: 300 \u00b120).");
    assert.match(plain(await shown.locator("#verdict .lead").textContent()), /^5 runs of each with the same seeds, beyond 95 % intervals/);
    const heads = await shown.locator("#compare-figures thead th").allTextContents();
    assert.deepEqual(heads.slice(1), ["A page", "B ftl.gc.victim=fifo"]);
    // The head comes before everything else.
    assert.equal(await shown.locator("#report > *").nth(1).getAttribute("id"), "verdict");
    assert.deepEqual(complaints, []);
    await shown.close();
  });

  test("sets a comma beside the name before it in a title of three", async () => {
    const all = ["page", "dftl", "tpftl"].map((stack) => sample({ stack, seed: 8, pressure: 0.5 }));
    const { page: shown } = await open(all);
    const ends = await shown.locator("#verdict .headline .stack-name").first().evaluate((name) => {
      const comma = name.nextElementSibling;
      return [name.getBoundingClientRect().right, comma?.getBoundingClientRect().left ?? 0, comma?.textContent] as const;
    });
    assert.ok(ends[2] === "," && Math.abs(ends[0] - ends[1]) < 1, ends.join(" "));
    await shown.close();
  });

  test("says that no difference can be measured, and where designs share the best places", async () => {
    const same = repeated("dftl", "page", [798, 10], [310, 30], [[0.97, 1, 1.03], [0.9, 1.03, 1.2]]);
    const { page: shown } = await open([first(), same]);
    assert.match(plain(await shown.locator("#verdict .verdict").textContent()), /^No measurable difference between A page and B dftl in requests a second and writes at the tail \(p99\.9\)\.$/);
    await shown.close();
    const mixed = repeated("dftl", "page", [1200, 10], [700, 30], [[1.45, 1.5, 1.55], [2, 2.3, 2.7]]);
    const { page: split } = await open([first(), mixed]);
    assert.equal(plain(await split.locator("#verdict .verdict").textContent()), "No single winner. Most requests a second: B dftl. Fastest writes at the tail (p99.9): A page.");
    await split.close();
    const { page: full } = await open([first(), { ...mixed, status: "drive-full" }]);
    assert.match(plain(await full.locator("#verdict .verdict").textContent()), /^No winner: B dftl ended as .drive-full./);
    await full.close();
    const { page: once } = await open([page(), page()]);
    assert.match(plain(await once.locator("#verdict .verdict").textContent()), /^No difference: all runs gave the same result/);
    await once.close();
  });

  test("draws a row of dots with intervals for each figure, over one axis", async () => {
    const fifo = repeated("page+ftl.gc.victim=fifo", "page", [500, 10], [700, 50], [[0.6, 0.63, 0.66], [2, 2.3, 2.7]]);
    const { page: shown } = await open([first(), fifo]);
    const rows = shown.locator("#compare-dots .ratio-row:not(.axis)");
    assert.deepEqual((await rows.locator(".ratio-name").allTextContents()).map(plain), ["IOPS more is better", "write p99.9 less is better"]);
    assert.deepEqual((await rows.locator(".ratio-told").allTextContents()).map(plain), ["\u00d70.63 (0.60 to 0.66)", "\u00d72.30 (2.00 to 2.70)"]);
    const middle = async (selector: string): Promise<number> => shown.locator(selector).first().evaluate((one) => one.getBoundingClientRect().left + one.getBoundingClientRect().width / 2);
    const [one, better, worse] = [await middle(".ratio-line.one"), await middle(".ratio-row:nth-child(1) .ratio-dot"), await middle(".ratio-row:nth-child(2) .ratio-dot")];
    assert.ok(better < one && one < worse, `${better} ${one} ${worse}`);
    const bar = await shown.locator(".ratio-row:nth-child(2) .ratio-bar").boundingBox();
    assert.ok(bar && bar.x < worse && bar.x + bar.width > worse && bar.x > one, JSON.stringify(bar));
    // Names of lines do not run into each other.
    const ticks = await shown.locator(".ratio-tick").evaluateAll((all) => all.map((tick) => tick.getBoundingClientRect()).map(({ left, right }) => [left, right] as const));
    ticks.slice(1).forEach(([left], at) => assert.ok(left > (ticks[at]?.[1] ?? 0), "two names overlap"));
    await shown.close();
  });

  test("folds the full reports of a comparison", async () => {
    const { page: shown } = await open([first(), sample({ stack: "dftl", seed: 8, pressure: 0.5 })]);
    assert.ok(await shown.locator("#run-0-why").isHidden());
    assert.ok(await shown.locator("#compare-figures").isVisible());
    await shown.locator("#reports > summary").click();
    await shown.locator("#run-0-latency .uplot canvas").waitFor();
    await shown.close();
  });

  test("begins a comparison of lives with the answer of the program", async () => {
    const answer = { sentence: "Cheapest a year: page, 10 a year if it lives 5 years.", about_differences: "Differences of 10 % and more:", differences: [{ sentence: "years: page 5; dftl 3" }], assumptions: "whole drives" };
    const { page: shown } = await open([first(), sample({ stack: "dftl", seed: 8, pressure: 0.5 })], [], answer);
    const head = (await shown.locator("#verdict > *").allTextContents()).map(plain);
    assert.equal(head[1], answer.sentence);
    // It named a winner beside an answer that named another drive.
    assert.doesNotMatch(head[2] ?? "", /[Ww]inner/);
    assert.match(head[3] ?? "", /Assumed: whole drives\.$/);
    assert.ok(await shown.locator("#verdict details li", { hasText: "years: page 5" }).isHidden());
    await shown.close();
  });
});
