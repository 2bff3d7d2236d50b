/** The page of a program that was built without Node.js draws the same results as figures. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, MISSING, writePage } from "./page";
import { sample } from "./sample";

let browser: Browser;
before(async () => {
  browser = MISSING ? browser : await Browser.start();
});
after(() => browser?.close());

test("the plain page has a table of latencies for each result, its notes and its write amplification", { skip: MISSING }, async () => {
  const results = [sample({ stack: "page", seed: 7, pressure: 1 }), sample({ stack: "dftl", seed: 8, pressure: 0.5 })];
  results[1]!.latency_ns.read.p999 = null;
  const file = await writePage(browser.folder, "plain.html", results, ["a note of both"], null, "plain");
  const { page, complaints } = await browser.open(file, { width: 1400, height: 900, scheme: "light" });
  assert.deepEqual(complaints, []);
  assert.deepEqual(await page.locator("h2").allTextContents(), ["page", "dftl"]);
  const rows = await page.locator("table").nth(1).locator("tr").allTextContents();
  assert.match(rows[0]!, /^latencyrequestsmeanp50p99p99\.9most$/);
  assert.match(rows.find((row) => row.startsWith("read"))!, /^read\d+[\d.]+ [mu]?s.*–/);
  const text = await page.locator("main").textContent();
  assert.ok(text?.includes("a note of both") && /Write amplification: \d/.test(text));
  await page.close();
});
