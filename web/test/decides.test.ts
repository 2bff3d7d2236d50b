/** What a reader decides by: the answer first, then its grounds, then what to do. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Result } from "../src/types";
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

  async function open(results: Result[], notes: string[] = []): Promise<Opened> {
    pages += 1;
    return browser.open(await writePage(browser.folder, `decides-${pages}.html`, results, notes), DESK);
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
});
