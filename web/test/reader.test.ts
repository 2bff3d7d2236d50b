/** What readers of the page stumbled over: each test is one of their questions. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { CAUSES, causeStyle } from "../src/causes";
import type { Causes, Life, Repeated, RepeatedFigure, Result } from "../src/types";
import { Browser, MISSING, unfold, writePage, type Opened } from "./page";
import { sample } from "./sample";

const DESK = { width: 1400, height: 900, scheme: "light" } as const;
const PHONE = { width: 400, height: 800, scheme: "light" } as const;
/** Widths from the smallest phone to a wide window. */
const WIDTHS = [320, 360, 400, 540, 700, 1000, 1400];

const plain = (text: string | null): string => (text ?? "").replaceAll("\u202f", " ");

/** A result of an older program: it has none of the newer parts. */
function older(result: Result): Result {
  const { defaults, config_given, config_unused, provenance, recorded_latency_ns, ...rest } = result;
  assert.ok(defaults && config_given && config_unused && provenance && recorded_latency_ns, "the sample has them all");
  return rest;
}

describe("a reader", { skip: MISSING }, () => {
  let browser: Browser;
  let pages = 0;
  before(async () => {
    browser = await Browser.start();
  });
  after(() => browser?.close());

  async function open(results: Result[], viewport: { width: number; height: number; scheme: "light" | "dark" } = DESK, notes: string[] = []): Promise<Opened> {
    pages += 1;
    return browser.open(await writePage(browser.folder, `reader-${pages}.html`, results, notes), viewport);
  }

  const page = (): Result => sample({ stack: "page", seed: 7, pressure: 1 });
  const dftl = (): Result => sample({ stack: "dftl", seed: 8, pressure: 0.5 });

  test("is told first what the tail waits for by root cause, and what to try", async () => {
    const result = page();
    // By direct blocker it would be another one.
    result.waiting.p99 = { host: 9e6 };
    result.waiting_root.p99 = { gc: 8e6, bus: 1e6 };
    result.config_unused = ["ftl.gc.victim"];
    const { page: shown } = await open([result]);
    const sentence = plain(await shown.locator(".run-header .advice").textContent());
    assert.match(sentence, /^The slowest 1 % of requests \(26,803\) waited most for gc \(87 % of their time\), by root cause\. Try more spare space/);
    const keys = await shown.$$eval("[data-advice]", (codes) => codes.map((code) => code.textContent));
    assert.deepEqual(keys, ["drive.over_provisioning", "flash.suspend", "flash.dies_per_channel"], "a key that the run does not read is no advice");
    await shown.close();
  });

  test("gets no advice where next to nothing was waited for", async () => {
    const result = page();
    result.waiting_root.p99 = { gc: 1_000 };
    const { page: shown } = await open([result]);
    assert.match(plain(await shown.locator(".run-header .advice").textContent()), /hardly waited: 99\.45 % of their time/);
    assert.equal(await shown.locator("[data-advice]").count(), 0);
    await shown.close();
  });

  test("gets advice that fits the loop and what collection did", async () => {
    const result = page();
    result.waiting_root.p99 = { queue: 5e6 };
    result.workload = { name: "trace.csv", loop: "open", queue_depth: null };
    const { page: shown } = await open([result]);
    const keys = await shown.$$eval("[data-advice]", (codes) => codes.map((code) => code.textContent));
    assert.ok(keys.includes("workload.time_scale") && !keys.includes("workload.queue_depth"), keys.join());
    await shown.close();
    // Collection that copied nothing: spare space would not have spared it anything.
    const erasing = page();
    erasing.flash.programs["gc"] = 0;
    erasing.waiting_root.p99 = { gc: 5e6 };
    const { page: erased } = await open([erasing]);
    const proposed = await erased.$$eval("[data-advice]", (codes) => codes.map((code) => code.textContent));
    assert.deepEqual(proposed, ["flash.suspend", "flash.dies_per_channel"]);
    await erased.close();
  });

  /** "800 MB/s" was read as "300 MB/s": the left edge of the label was cut. */
  test("sees every label of every chart whole, at every width", async () => {
    const fast = page();
    for (const name of ["read_bytes", "write_bytes"]) {
      fast.series.columns[name] = (fast.series.columns[name] ?? []).map((value) => (value ?? 0) * 1.9);
    }
    const slow = sample({ stack: "slow", seed: 9, pressure: 1 });
    slow.series.columns["queue_depth"] = (slow.series.columns["queue_depth"] ?? []).map(() => 0.000_123);
    for (const width of WIDTHS) {
      const { page: shown } = await open([fast, slow], { ...DESK, width });
      await unfold(shown);
      await shown.locator("#tab-1").click();
      await shown.locator("#run-1-timeline .uplot canvas").nth(3).waitFor();
      const drawn = await Browser.drawn(shown);
      assert.ok(drawn.some(({ text }) => plain(text).endsWith(" MB/s")) && drawn.length > 100, `${drawn.length} texts`);
      for (const { text, box, within } of drawn) {
        const isWhole = box.left >= 0 && box.top >= 0 && box.right <= within.width && box.bottom <= within.height;
        assert.ok(isWhole, `${width} px: ${plain(text)} at ${JSON.stringify(box)} of ${JSON.stringify(within)}`);
      }
      // Nor does one stand over its neighbour.
      drawn.forEach((one, index) => {
        const next = drawn[index + 1];
        if (!next || next.canvas !== one.canvas || Math.abs(next.box.top - one.box.top) > 2 || next.box.left < one.box.left) return;
        assert.ok(next.box.left > one.box.right, `${width} px: ${plain(one.text)} and ${plain(next.text)}`);
      });
      await shown.close();
    }
  });

  test("finds no empty decades on the axes of few and of very fast requests", async () => {
    const result = page();
    for (const op of ["read", "write"] as const) {
      const { latency_ns: all } = result;
      all[op] = { ...all[op], count: 40, p50: 0, max: 90_000, histogram: [[0, 25], [90_000, 15]] };
    }
    const { page: shown } = await open([result]);
    const texts = (await Browser.drawn(shown)).filter(({ canvas }) => canvas === 0).map(({ text }) => plain(text));
    assert.ok(texts.includes("90 %") && !texts.includes("99 %"), texts.join(", "));
    assert.ok(!texts.some((text) => /\dns| ns/.test(text)), texts.join(", "));
    assert.match(plain(await shown.locator("#run-0-latency").textContent()), /63 % of the reads and 63 % of the writes touched no flash/);
    await shown.close();
  });

  test("sees which keys were given, and those of absent layers folded away", async () => {
    const { page: shown } = await open([page()]);
    const section = shown.locator("#run-0-configuration");
    const given = await section.locator(".given dt").allTextContents();
    assert.deepEqual(given.map((text) => text.trim()), ["drive.capacity set", "ftl.gc.victim set", "buffer.size set not read"]);
    const folded = section.locator("details.unused");
    assert.match((await folded.locator("summary").textContent()) ?? "", /^3 keys /);
    assert.ok(await section.locator('[data-config="coded.reads"]').isHidden());
    await folded.locator("summary").press("Enter");
    assert.ok(await section.locator('[data-config="coded.reads"]').isVisible());
    await shown.close();
    const { page: old } = await open([older(page())]);
    assert.equal(await old.locator(".mark, .given, details.unused, #run-0-provenance").count(), 0);
    assert.ok(await old.locator('[data-config="coded.reads"]').isVisible());
    await old.close();
  });

  test("sees arrows that point where the number went, and words for what that means", async () => {
    const { page: shown } = await open([page(), dftl()]);
    const ratio = async (label: string): Promise<string> => {
      const row = shown.locator("#compare-figures tbody tr").filter({ has: shown.locator("th", { hasText: new RegExp(`^${label}$`) }) });
      return (await row.locator(".ratio").textContent()) ?? "";
    };
    assert.match(await ratio("IOPS"), /^×1\.50 ▲ better$/);
    assert.match(await ratio("Write latency p99"), /^×0\.\d+ ▼ better$/);
    await shown.close();
    const { page: turned } = await open([dftl(), page()]);
    const words = await turned.locator("#compare-figures .ratio").allTextContents();
    assert.ok(words.some((text) => text.endsWith("▲ worse")) && words.some((text) => text.endsWith("▼ worse")), words.join());
    for (const text of words.filter((text) => text.startsWith("×"))) {
      const value = Number(text.slice(1).split(" ")[0]?.replace(",", ""));
      const arrow = text.includes("▲") ? 1 : text.includes("▼") ? -1 : 0;
      assert.equal(arrow, Math.abs(value - 1) < 0.011 ? 0 : Math.sign(value - 1), text);
    }
    await turned.close();
  });

  test("sees how long each drive of a comparison lives, and what that costs", async () => {
    const life = (years: number, price: number): Life => ({
      endurance: 3_000,
      scale: 64,
      capacity_bytes: 800e9,
      tbw: { earliest: years * 300, estimate: years * 365, latest: years * 400 },
      data_sheet: null,
      dwpd: { earliest: 0.9, estimate: 1, latest: 1.1 },
      years: { earliest: years * 0.8, estimate: years, latest: years * 1.1 },
      cost: {
        price,
        per_gb: price / 800,
        per_tb_written: { earliest: 2, estimate: price / (years * 365), latest: 1 },
        per_year: { earliest: price / (years * 0.8), estimate: price / years, latest: price / (years * 1.1) },
      },
    });
    const untold = { ...sample({ stack: "tpftl", seed: 9, pressure: 1 }), life: null };
    const notes = ["No life of tpftl: the average block was erased less than once.", "drive.scale = 64: a drive of 12.5 GB ran in place of one of about 800 GB."];
    const { page: shown } = await open([{ ...page(), life: life(5, 190) }, { ...dftl(), life: life(2, 140) }, untold], DESK, notes);
    const row = shown.locator("#compare-lives tbody tr").filter({ has: shown.locator("th", { hasText: /^Years until worn out$/ }) });
    const cells = (await row.locator("td").allTextContents()).map((text) => text.replace(/\s+/g, " "));
    assert.match(cells[0] ?? "", /^5.* \(4.* to 5\.5.*\)/);
    assert.match(cells[1] ?? "", /×0\.40? ▼ worse$/);
    assert.equal(cells[2], "\u2013");
    const told = plain(await shown.locator("#compare-lives").innerText());
    for (const part of ["Price of a TB written", "Erases that a block survives", "3,000", "Simulated at 1 of", ...notes]) assert.ok(told.includes(part), `${part}: ${told}`);
    const { y } = (await shown.locator("#compare-lives .notes").boundingBox())!;
    assert.ok(y < DESK.height, `what limits the answers stands ${y} px down`);
    await shown.close();
    const { page: without } = await open([page(), dftl()]);
    assert.equal(await without.locator("#compare-lives").count(), 0);
    await without.close();
  });

  test("sees the prices that were given where no life can be told, and why", async () => {
    const [short, none] = ["No life of page: the window is too short.", "No life of dftl: the window is too short."];
    const untold = (run: Result, price: number): Result => ({ ...run, life: null, cost: { price, per_gb: price / 800 } });
    const { page: shown } = await open([untold(page(), 190), untold(dftl(), 95), { ...dftl(), life: null }], DESK, [short, none]);
    const row = shown.locator("#compare-lives tbody tr").filter({ has: shown.locator("th", { hasText: /^Price$/ }) });
    const cells = (await row.locator("td").allTextContents()).map((text) => text.replace(/\s+/g, " "));
    assert.equal(cells[0], "190");
    assert.match(cells[1] ?? "", /^95.*×0\.50? ▼ better$/);
    assert.equal(cells[2], "\u2013");
    const told = plain(await shown.locator("#compare-lives").innerText());
    for (const part of [short, none, "Price of a GB", "the notes give the reasons"]) assert.ok(told.includes(part), `${part}: ${told}`);
    assert.ok(!told.includes("Years until"), told);
    await shown.close();
  });

  test("is not told better or worse by single runs where repetitions cannot tell", async () => {
    const figure = (metric: string, differs: RepeatedFigure["differs"], better: boolean | null): RepeatedFigure => ({
      metric,
      name: metric,
      mean: 5,
      half: 1,
      shown: "5.0 \u00b1 1.0",
      ratio: { low: 0.9, middle: 1.2, high: 1.6, shown: "1.20 (0.90 to 1.60)" },
      differs,
      better,
    });
    const repeated = (against: string | null, figures: RepeatedFigure[]): Repeated => ({ count: 5, against, figures, sentence: null });
    const first = [figure("iops", null, null), figure("write_p99_ns", null, null)].map((one) => ({ ...one, ratio: null }));
    const second = [figure("iops", "cannot be told", null), figure("write_p99_ns", "lower", true)];
    const { page: shown } = await open([
      { ...page(), repeated: repeated(null, first) },
      { ...dftl(), repeated: repeated("page", second) },
    ]);
    const cell = async (label: string): Promise<string> => {
      const row = shown.locator("#compare-figures tbody tr").filter({ has: shown.locator("th", { hasText: new RegExp(`^${label}$`) }) });
      return plain(await row.locator("td").nth(1).textContent());
    };
    assert.equal(await cell("IOPS"), "5.0 \u00b1 1.0\u00d71.20 (0.90 to 1.60) cannot be told apart");
    assert.match(await cell("Write latency p99"), /\u25bc better$/);
    assert.match(await cell("Read bandwidth"), /\u00d71\.50$/, "a ratio of single runs is not judged");
    const colours = await shown.locator("#compare-figures .better, #compare-figures .worse").allTextContents();
    assert.equal(colours.length, 1, colours.join());
    await shown.close();
  });

  test("sees no write amplification and no advice on it after too few writes", async () => {
    const nothing = (causes: Causes): Causes => Object.fromEntries(Object.keys(causes).map((cause) => [cause, null]));
    const few = { ...page(), waf: nothing(page().waf), waf_pages: nothing(page().waf_pages), waf_absent: "too few writes" };
    few.waiting_root.p99 = { gc: 5e6 };
    const { page: shown } = await open([few]);
    const tile = plain(await shown.locator("#run-0-figures .tile", { hasText: "Write amplification" }).innerText());
    assert.match(tile, /\u2013\s*too few writes/);
    assert.equal(await shown.locator("[data-advice]").count(), 0);
    assert.match(plain(await shown.locator(".run-header .advice").textContent()), /cleaned up the state that the drive began in/);
    assert.ok(!/cost .* of programs/.test(plain(await shown.locator("#run-0-figures").textContent())));
    await shown.close();
    const { page: both } = await open([few, dftl()]);
    const row = both.locator("#compare-figures tbody tr").filter({ has: both.locator("th", { hasText: /^WAF$/ }) });
    assert.equal(await row.locator("td").first().textContent(), "\u2013, too few writes");
    await both.close();
  });

  test("finds reads of unwritten pages as an operation of their own", async () => {
    const { page: shown } = await open([page()]);
    const latency = shown.locator("#run-0-latency");
    assert.ok(await latency.locator("tbody th", { hasText: "read of unwritten pages" }).isVisible());
    assert.match(plain(await latency.textContent()), /0\.09 % of the reads asked for pages that were never written, or trimmed/);
    assert.ok(await shown.locator("#run-0-amplification tbody th", { hasText: "read of unwritten pages" }).isVisible());
    await shown.close();
  });

  test("learns what a cause is by key, by touch and from a list", async () => {
    const { page: shown, complaints } = await open([page()], PHONE);
    const chip = shown.locator("#run-0-why .legend .cause", { hasText: "gc" });
    const bubble = shown.locator(".bubble");
    const { meaning } = causeStyle("gc");
    assert.equal(await chip.getAttribute("title"), meaning);
    await chip.focus();
    await shown.keyboard.press("Enter");
    assert.equal(await bubble.textContent(), meaning);
    const box = await bubble.boundingBox();
    assert.ok(box && box.x >= 0 && box.x + box.width <= PHONE.width, JSON.stringify(box));
    await shown.keyboard.press("Escape");
    assert.ok(await bubble.isHidden());
    await shown.locator(".advice .cause").first().click();
    assert.ok(await bubble.isVisible());
    await shown.keyboard.press("Escape");
    const list = shown.locator("#run-0-why .meanings");
    await list.locator("summary").click();
    const named = await list.locator("dt").allTextContents();
    const chips = await shown.locator("#run-0-why .legend .cause").allTextContents();
    assert.ok(chips.length > 3 && chips.every((name) => named.includes(name)), `${chips.join()} of ${named.join()}`);
    assert.ok(await list.locator("dd", { hasText: meaning }).isVisible());
    assert.ok(CAUSES.every((cause) => causeStyle(cause).meaning !== ""), "every cause has a meaning");
    assert.deepEqual(complaints, []);
    await shown.close();
  });

  test("reads microseconds as \u00b5s", async () => {
    const { page: shown } = await open([page(), dftl()]);
    const texts = [...(await shown.locator("[data-key]").allTextContents()), ...(await Browser.drawn(shown)).map(({ text }) => text)].map(plain);
    assert.ok(texts.some((text) => /\d \u00b5s$/.test(text)));
    assert.deepEqual(texts.filter((text) => /\dus\b|\d us\b/.test(text)), []);
    await shown.close();
  });

  /** Cells that no card shows and no scrolling reaches. */
  async function outOfReach(shown: Page): Promise<string[]> {
    return shown.$$eval(".table", (scrollers) =>
      scrollers.filter((scroller) => scroller.clientWidth > 0).flatMap((scroller) => {
        const isScrolled = scroller.scrollWidth > scroller.clientWidth + 1;
        const hint = scroller.parentElement?.querySelector<HTMLElement>(".scroll-hint");
        if (isScrolled && (!hint || hint.hidden)) return [`${scroller.getAttribute("aria-label")}: no hint`];
        scroller.scrollLeft = scroller.scrollWidth;
        const cells = [...scroller.querySelectorAll("tbody tr:first-child > :last-child")];
        const right = document.documentElement.clientWidth;
        return cells.filter((cell) => cell.getBoundingClientRect().right > right).map((cell) => `${scroller.getAttribute("aria-label")}: ${cell.textContent}`);
      }),
    );
  }

  test("reaches every column of every table on a phone", async () => {
    const runs = ["a-stack-with-a-long-name+ftl.gc.victim=cost-benefit", "dftl", "tpftl", "leaftl"];
    const results = runs.map((stack, index) => sample({ stack, seed: index + 1, pressure: 1 - index / 5 }));
    const { page: shown } = await open(results, PHONE);
    await unfold(shown);
    for (const summary of await shown.locator("summary:visible:not(#reports > summary)").all()) await summary.click();
    await shown.waitForTimeout(100);
    assert.deepEqual(await outOfReach(shown), []);
    assert.ok((await shown.evaluate(() => document.documentElement.scrollWidth)) <= PHONE.width);
    // A card names the column of each value.
    const card = shown.locator("#compare-figures .cards tr", { hasText: "IOPS" }).locator("td").nth(1);
    assert.equal(await card.getAttribute("data-label"), "B dftl");
    assert.match(await card.evaluate((cell) => getComputedStyle(cell, "::before").content), /data-label|B dftl/);
    assert.ok((await shown.locator(".scroll-hint:visible").count()) > 0, "a long table scrolls and says so");
    await shown.close();
  });

  test("sees the lines of a table go along with the first column and the head that stay in sight", async () => {
    const { page: shown } = await open([page()], { width: 1200, height: 900, scheme: "light" });
    const borders = await shown.$$eval(".table > table", (tables) => tables.map((one) => getComputedStyle(one).borderCollapse));
    assert.ok(borders.length > 0);
    assert.deepEqual([...new Set(borders)], ["separate"], "collapsed lines belong to the table and scroll away from what is sticky");
    await shown.close();
  });

  test("sees on paper which toggles are on, whole tables and what causes mean", async () => {
    const { page: shown } = await open([page(), dftl(), page(), dftl()], { width: 1200, height: 900, scheme: "dark" });
    await shown.locator("#compare-why label", { hasText: "Writes" }).click();
    await shown.emulateMedia({ media: "print" });
    await shown.setViewportSize({ width: 680, height: 960 });
    await shown.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await shown.waitForTimeout(100);
    const told = await shown.locator("#compare-why .toggle").evaluateAll((sets) => sets.map((set) => (set as HTMLElement).innerText.replace(/\s+/g, " ").trim()));
    assert.deepEqual(told, ["Requests Writes", "Blame Root cause", "Bar length Time"]);
    assert.ok(await shown.locator("#compare-why .meanings dd").first().isVisible());
    assert.equal(await shown.locator(".tabs button:visible").count(), 1);
    const cut = await shown.$$eval(".table", (all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute("aria-label")));
    assert.deepEqual(cut, []);
    await shown.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.ok(await shown.locator("#compare-why .meanings").evaluate((list) => !(list as HTMLDetailsElement).open));
    await shown.close();
  });

  test("takes no missing latency for a fast one", async () => {
    const result = page();
    result.latency_ns.read = { ...result.latency_ns.read, p50: 0 };
    const { page: shown } = await open([result]);
    const cell = shown.locator('#run-0-latency [data-key="latency_ns.read.p50"]');
    assert.equal(await cell.textContent(), "no flash");
    assert.match((await cell.getAttribute("title")) ?? "", /never written/);
    assert.equal(await shown.locator('#run-0-figures [data-key="latency_ns.read.p50"]').textContent(), "no flash");
    assert.equal(await shown.locator('[data-key^="latency_ns.flush"]').count(), 0, "no flush, no row");
    await shown.close();
    const counted = { ...page(), config: { ...page().config, "engine.time": "none" } };
    const empty = { ...page(), latency_ns: { ...page().latency_ns, read: { ...page().latency_ns.flush } } };
    const { page: both } = await open([counted, empty]);
    const row = both.locator('#compare-figures [data-key="latency_ns.read.p99"]');
    assert.deepEqual(await row.allTextContents(), ["\u2013", "\u2013"]);
    await both.close();
  });

  test("is told that a run recorded no causes", async () => {
    const result = page();
    const none = { direct: null, root: null, service_ns: null };
    const untold = {
      ...result,
      config: { ...result.config, "engine.causes": "false" },
      waiting: null,
      waiting_root: null,
      service_ns: null,
      waiting_by_op: { read: none, write: none, trim: none, flush: none },
    };
    const { page: shown } = await open([untold as unknown as typeof result]);
    assert.match((await shown.locator("#run-0-why, #why").first().textContent()) ?? "", /did not record what requests wait for/);
    assert.ok(!/waited/.test((await shown.locator("#run-0-figures, #figures").first().textContent()) ?? ""), "nor that they waited for nothing");
    await shown.close();
  });

  test("reads what a comparison says before its tables", async () => {
    const { page: shown } = await open([page(), dftl(), page()]);
    const told = await shown.locator(".sentences .advice").allTextContents();
    assert.equal(told.length, 2);
    assert.match(told[0] ?? "", /^B .* against A .*: IOPS .*, read p99\.9 .*, write p99\.9 .*WAF.*\.$/);
    assert.match(told[1] ?? "", /^C .* gave the result of A .*, to the last command/);
    await shown.close();
  });

  test("is told no percentile that too few requests lie beyond", async () => {
    const result = page();
    result.latency_ns.read = { ...result.latency_ns.read, count: 318, p99: null, p999: null, p9999: null };
    const { page: shown } = await open([result]);
    const cell = shown.locator('#run-0-latency [data-key="latency_ns.read.p999"]');
    assert.equal(await cell.textContent(), "\u2013");
    assert.match((await cell.getAttribute("title")) ?? "", /takes 10,000 reads, and there are 318/);
    assert.ok(await shown.locator('#run-0-figures [data-key="latency_ns.read.p90"]').first().isVisible(), "the highest there is");
    await shown.close();
  });

  test("sees what the run was made from, and can copy its command", async () => {
    const { page: shown } = await open([page()]);
    const section = shown.locator("#run-0-provenance");
    const command = "nandarium run --stack page --set 'workload.note=it'\\''s here' --out 'out/my run'";
    assert.equal(await section.locator(".command").textContent(), command);
    assert.match(plain(await section.textContent()), /nandarium 0\.9\.0.*traces\/mail server\.csv, 45\.9 MiB, SHA-256 0123456789ab….*stacks\/mine\.toml/);
    assert.equal(await section.locator("[data-digest]").first().getAttribute("title"), "0123456789abcdef".repeat(4));
    await section.locator(".copy").click();
    await shown.waitForFunction(() => (document.querySelector(".copied")?.textContent ?? "") !== "");
    const copied = await section.locator(".copied").textContent();
    if (copied !== "Copied") assert.equal(await shown.evaluate(() => String(getSelection())), command);
    const recorded = shown.locator("#run-0-latency tbody tr", { hasText: "as recorded" });
    assert.equal(await recorded.count(), 1);
    assert.match(plain(await recorded.textContent()), /^read, as recorded1,339,001412 µs130 µs1\.20 ms7\.65 ms21\.0 ms55\.0 ms98\.0 ms$/);
    await shown.close();
  });

  test("finds what the program chose by itself among the notes, once", async () => {
    const result = page();
    result.notes = [...(result.defaults ?? []), ...result.notes];
    const { page: shown } = await open([result]);
    const notes = await shown.locator(".notes li").allTextContents();
    assert.deepEqual(notes, [...(result.defaults ?? []), "Preconditioned to steady state: 2 overwrites of the whole drive <not measured>."]);
    await shown.close();
  });
});
