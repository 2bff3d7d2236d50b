import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { decoded, type RawResult } from "../src/decode";
import type { Num, Result } from "../src/types";
import { Browser, MISSING, unfold, writePage, type Viewport } from "./page";
import { emptySample, sample } from "./sample";

const VIEWPORTS: readonly Viewport[] = [
  { width: 360, height: 800, scheme: "light" },
  { width: 1400, height: 900, scheme: "light" },
  { width: 1400, height: 900, scheme: "dark" },
];

/** Keys that every page must show for a run with reads, writes and flash work. */
const REQUIRED = [
  "iops",
  "waf.total",
  "latency_ns.read.p99",
  "latency_ns.write.p999",
  "flash.programs.total",
  "waiting_root.p99.gc",
  "wear.max",
];

interface Shown {
  key: string;
  run: number;
  value: string;
  text: string;
}

interface Case {
  name: string;
  results: Result[];
  /** A page made by someone else; otherwise the results are rendered here. */
  file?: string;
}

async function cases(): Promise<Case[]> {
  const { REPORT_HTML: html, REPORT_JSON: json } = process.env;
  if (html) {
    assert.ok(json, "REPORT_HTML needs REPORT_JSON, the results the page was made from");
    const parsed = JSON.parse(await readFile(json, "utf8")) as RawResult | { results: RawResult[] };
    return [{ name: html, file: html, results: ("results" in parsed ? parsed.results : [parsed]).map(decoded) }];
  }
  const page = sample({ stack: "page", seed: 7, pressure: 1 });
  const dftl = sample({ stack: "dftl", seed: 8, pressure: 0.5, status: "drive-full" });
  const writeOnly = sample({ stack: "two-level", seed: 9, pressure: 0.2 });
  writeOnly.latency_ns.read = { ...emptySample().latency_ns.read };
  writeOnly.waiting_by_op.read = emptySample().waiting_by_op.read;
  writeOnly.series = { interval_ns: 0, columns: { time_ns: [0], write_bytes: [0], write_latency_mean_ns: [0] } };
  return [
    { name: "one run", results: [page] },
    { name: "two runs", results: [page, dftl] },
    { name: "many runs", results: [page, dftl, writeOnly, emptySample()] },
    { name: "a run without a request", results: [emptySample()] },
    { name: "no result", results: [] },
  ];
}

function shown(page: Page): Promise<Shown[]> {
  return page.$$eval("[data-key]", (elements) =>
    elements.map((element) => ({
      key: element.getAttribute("data-key") ?? "",
      run: Number(element.getAttribute("data-run")),
      value: element.getAttribute("data-value") ?? "",
      text: element.textContent ?? "",
    })),
  );
}

/** The JSON's value under a dotted key; names of layers may themselves hold dots. */
function valueAt(here: unknown, key: string): unknown {
  if (typeof here !== "object" || here === null) return undefined;
  const table = here as Record<string, unknown>;
  if (key in table) return table[key];
  for (let dot = key.indexOf("."); dot > 0; dot = key.indexOf(".", dot + 1)) {
    const found = valueAt(table[key.slice(0, dot)], key.slice(dot + 1));
    if (found !== undefined) return found;
  }
  return undefined;
}

function assertMatches(all: readonly Shown[], results: readonly Result[]): void {
  for (const { key, run, value, text } of all) {
    assert.notEqual(text, "", `${key} of run ${run} shows nothing`);
    assert.doesNotMatch(text, /NaN|undefined|null|Infinity/, `${key} of run ${run}`);
    if (key.startsWith("derived.")) continue;
    const expected = valueAt(results[run], key) ?? "";
    assert.equal(value, String(expected), `${key} of run ${run}`);
  }
}

async function keysIn(page: Page, selector: string): Promise<string[]> {
  return page.$$eval(`${selector} [data-key]`, (elements) => elements.map((element) => element.getAttribute("data-key") ?? ""));
}

function busy(result: Result): boolean {
  const { read, write } = result.latency_ns;
  return read.count > 0 && write.count > 0 && (result.waiting_root.p99["gc"] ?? 0) > 0;
}

test("a browser is installed", () => assert.ok(!MISSING, MISSING || ""));

describe("report page", { skip: MISSING }, async () => {
  let browser: Browser;
  before(async () => {
    browser = await Browser.start();
  });
  after(() => browser?.close());

  for (const { name, results, file } of await cases()) {
    const path = async (): Promise<string> => file ?? writePage(browser.folder, `${name.replaceAll(" ", "-")}.html`, results);

    for (const viewport of VIEWPORTS) {
      test(`${name}, ${viewport.width} px, ${viewport.scheme}: quiet, offline, fits, shows the JSON's numbers`, async () => {
        const { page, complaints } = await browser.open(await path(), viewport);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= viewport.width, `the page is ${width} px wide`);
        const all = await shown(page);
        assertMatches(all, results);
        results.forEach((result, run) => {
          const keys = new Set(all.filter((entry) => entry.run === run).map((entry) => entry.key));
          for (const key of busy(result) ? REQUIRED : ["iops", "waf.total"])
            assert.ok(keys.has(key), `run ${run} does not show ${key}`);
        });
        const html = await page.content();
        assert.doesNotMatch(html.replace(/<script[\s\S]*?<\/script>/g, ""), /NaN|\bundefined\b/);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    const [first] = results;
    if (!first || !busy(first)) continue;

    test(`${name}: toggles change what the bars show`, async () => {
      const { page, complaints } = await browser.open(await path(), { width: 1400, height: 900, scheme: "light" });
      await unfold(page);
      const section = "#run-0-why";
      assert.ok((await keysIn(page, section)).includes("waiting_root.p99.gc"), "the root cause comes first");
      await page.locator(`${section} label`, { hasText: "Direct blocker" }).click();
      assert.ok((await keysIn(page, section)).some((key) => key.startsWith("waiting.p99.")));
      await page.locator(`${section} label`, { hasText: "Root cause" }).click();
      await page.locator(`${section} label`, { hasText: "Writes" }).click();
      const keys = await keysIn(page, section);
      assert.ok(keys.some((key) => key.startsWith("waiting_by_op.write.root.p99.")));
      assert.ok(!keys.some((key) => key.startsWith("waiting_root.")));
      // Arrow keys move between radio buttons.
      await page.locator(`${section} input[value="write"]`).focus();
      await page.keyboard.press("ArrowLeft");
      assert.ok((await keysIn(page, section)).some((key) => key.startsWith("waiting_by_op.read.root.")));
      await page.locator(`${section} label`, { hasText: "Time" }).click();
      assertMatches(await shown(page), results);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test(`${name}: charts and maps are drawn and answer the keyboard`, async () => {
      const { page, complaints } = await browser.open(await path(), { width: 1400, height: 900, scheme: "light" });
      await unfold(page);
      assert.ok((await page.locator("#run-0-latency .uplot canvas").count()) === 1);
      const columns: Record<string, Num[]> = results[0]?.series.columns ?? {};
      const parts = [results[0]?.waf.total, columns["free_blocks"]?.some((value) => value !== null)].filter(Boolean).length;
      const waits = Object.entries(columns).some(([name, values]) => name.endsWith("_wait_ns") && values.some((value) => value));
      assert.equal(await page.locator("#run-0-timeline .uplot canvas").count(), (waits ? 5 : 4) + parts);
      const map = page.locator("#run-0-maps canvas").first();
      await map.focus();
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("ArrowRight");
      const readout = await page.locator("#run-0-maps output").first().textContent();
      assert.match(readout ?? "", /address .* (reads|writes)$/);
      for (const summary of await page.locator("summary:visible:not(#reports > summary)").all()) await summary.click();
      assert.ok((await page.locator("#run-0-timeline table tbody tr").count()) > 0);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    if (results.length < 2) continue;
    test(`${name}: tabs choose the run`, async () => {
      const { page, complaints } = await browser.open(await path(), { width: 1400, height: 900, scheme: "dark" });
      await unfold(page);
      assert.ok(await page.locator("#run-0-why").isVisible());
      await page.locator("#tab-1").click();
      assert.ok(await page.locator("#run-0-why").isHidden());
      assert.ok(await page.locator("#run-1-why").isVisible());
      if (busy(results[1] as Result)) await page.locator("#run-1-latency .uplot canvas").waitFor();
      await page.locator("#tab-1").press("Home");
      assert.ok(await page.locator("#run-0-why").isVisible());
      assert.deepEqual(complaints, []);
      await page.close();
    });
  }
});
