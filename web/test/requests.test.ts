import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Result } from "../src/types";
import { Browser, MISSING, writePage, type Opened } from "./page";
import { closeup, sample } from "./sample";

function result(): Result {
  const run = sample({ stack: "page", seed: 7, pressure: 1 });
  const writes = [{ ...closeup("write", 900_000, "slowest", false), slices: { track: [], begin_ns: [], ns: [], work: [], cause: [], pages: [], own: [] } }];
  const reads = run.closeups!.requests.filter(({ op }) => op === "read");
  return { ...run, closeups: { ...run.closeups!, requests: [...reads, ...writes] } };
}

describe("requests under the microscope", { skip: MISSING }, () => {
  let browser: Browser;
  let opened: Opened;
  before(async () => {
    browser = await Browser.start();
    opened = await browser.open(await writePage(browser.folder, "requests.html", [result()]), { width: 1200, height: 900, scheme: "light" });
  });
  after(async () => {
    assert.deepEqual(opened.complaints, []);
    await browser.close();
  });

  test("the slowest are listed, and the first is shown with its waiting in words", async () => {
    const { page } = opened;
    assert.deepEqual(await page.$$eval(".request-latency", (all) => all.map((one) => one.textContent)), ["4.00\u202fms", "3.00\u202fms", "2.00\u202fms"]);
    assert.match((await page.textContent(".request-picture .lead")) ?? "", /waited 2\.00\u202fms for host, 1\.60\u202fms for gc; 400\u202f\u00b5s were its own work/);
  });

  test("pieces lie where their times say", async () => {
    const boxes = await opened.page.$$eval(".gantt-piece", (pieces) => {
      const plot = document.querySelector(".gantt-plot")!.getBoundingClientRect();
      return pieces.map((piece) => {
        const box = piece.getBoundingClientRect();
        return { text: piece.textContent, left: (box.left - plot.left) / plot.width, width: box.width / plot.width, own: piece.classList.contains("own") };
      });
    });
    const near = (a: number, b: number): void => assert.ok(Math.abs(a - b) < 0.005, `${a}, not ${b}`);
    assert.deepEqual(boxes.map(({ text, own }) => [text, own]), [["host program", false], ["gc erase", false], ["its read", true]]);
    [[0, 0.5], [0.5, 0.4], [0.9, 0.1]].forEach(([left, width], at) => {
      near(boxes[at]!.left, left!);
      near(boxes[at]!.width, width!);
    });
  });

  test("arrow keys go through the list and through the pieces, and zoom does what its keys say", async () => {
    const { page } = opened;
    await page.focus(".request[aria-pressed=true]");
    await page.keyboard.press("ArrowDown");
    assert.match((await page.textContent(".request-picture h3")) ?? "", /3\.00\u202fms/);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-pressed")), "true");
    await page.focus(".gantt-plot");
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    assert.equal(await page.textContent(".gantt-readout"), "die 1 (channel 1): read of 2 pages of this request, for 300\u202f\u00b5s, from 2.70\u202fms after it arrived.");
    await page.keyboard.press("+");
    assert.match((await page.textContent(".gantt-range")) ?? "", /of 3\.00\u202fms/);
    const box = await page.$eval(".gantt-piece.own", (piece) => piece.getBoundingClientRect().width / piece.parentElement!.getBoundingClientRect().width);
    assert.ok(Math.abs(box - 0.2) < 0.005, `twice as wide: ${box}`);
    await page.keyboard.press("0");
    assert.match((await page.textContent(".gantt-range")) ?? "", /^all/);
  });

  test("a press on the curve shows the request of that latency", async () => {
    const { page } = opened;
    await page.evaluate(() => document.querySelector("#run-0-latency")!.scrollIntoView());
    const over = page.locator("#run-0-latency .u-over");
    const box = (await over.boundingBox())!;
    // The right end of the curve of reads, which is the upper one.
    await page.mouse.click(box.x + box.width - 2, box.y + 20);
    const title = (await page.textContent(".request-picture h3")) ?? "";
    assert.match(title, /^Read .*: (4\.00|3\.00|2\.00)\u202fms|^Write .*900/);
    await page.mouse.move(box.x + 5, box.y + box.height - 5);
    await page.evaluate(() => document.querySelector("#run-0-latency")!.scrollIntoView());
    const again = (await over.boundingBox())!;
    await page.mouse.click(again.x + again.width * 0.1, again.y + again.height - 10);
    assert.notEqual(await page.textContent(".request-picture h3"), title);
    const isSeen = await page.$eval("#run-0-requests", (section) => Math.abs(section.getBoundingClientRect().top) < 200);
    assert.ok(isSeen, "the section has come into view");
  });

  test("a request that waited behind host commands behind gc is said to have waited for gc", async () => {
    const behind = { ...closeup("read", 4_000_000, "slowest", true), waited_ns: { host: 3_600_000 }, waited_root_ns: { gc: 3_600_000 } };
    const run = { ...result(), closeups: { ...result().closeups!, requests: [behind] } };
    const { page, complaints } = await browser.open(await writePage(browser.folder, "behind.html", [run]), { width: 1200, height: 900, scheme: "light" });
    assert.equal(((await page.textContent(".request-why")) ?? "").replaceAll("\u202f", " "), "90 % gc");
    assert.match((await page.textContent(".request-picture .lead")) ?? "", /waited 3\.60\u202fms for gc; .*directly before it was mostly host \(3\.60\u202fms\)/);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("a request without commands says so", async () => {
    const { page } = opened;
    await page.check("#run-0-requests input[value=write]", { force: true });
    await page.check("#run-0-requests input[value=slowest]", { force: true });
    assert.match((await page.textContent(".request-picture .lead")) ?? "", /No die worked in its time/);
    assert.equal(await page.locator(".gantt").count(), 0);
  });

  test("on a phone nothing sticks out", async () => {
    const phone = await browser.open(await writePage(browser.folder, "phone.html", [result()]), { width: 400, height: 800, scheme: "dark" });
    assert.ok((await phone.page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
    assert.deepEqual(phone.complaints, []);
  });

  test("a run that looked at none has no such section", async () => {
    const plain = await browser.open(await writePage(browser.folder, "plain.html", [{ ...sample({ stack: "page", seed: 7, pressure: 1 }), closeups: { tracks: [], requests: [] } }]), { width: 1200, height: 900, scheme: "light" });
    assert.equal(await plain.page.locator("[id$=requests], a[href$=requests]").count(), 0);
  });

  test("the worst moment is the interval with the longest latency, and leads to its request", async () => {
    const run = result();
    const { columns, interval_ns: interval } = run.series;
    columns["read_latency_max_ns"]![3] = 77_000_000;
    columns["write_latency_max_ns"]![3] = 1_000_000;
    columns["read_requests"]![3] = 1_000;
    columns["write_requests"]![3] = 1_000;
    for (const cause of ["host", "bus", "merge"]) columns[`${cause}_wait_ns`]![3] = 0;
    columns["gc_wait_ns"]![3] = 2_000 * 5_000_000;
    const { page, complaints } = await browser.open(await writePage(browser.folder, "moment.html", [run]), { width: 1200, height: 900, scheme: "light" });
    const from = (columns["time_ns"]![3]! / 1e6).toFixed(0);
    const text = ((await page.textContent(".worst-moment")) ?? "").replaceAll("\u202f", " ");
    assert.match(text, new RegExp(`from ${from} ms to ${(columns["time_ns"]![3]! + interval) / 1e6} ms: its longest read took 77.0 ms`));
    assert.match(text, /waited 5\.00 ms for gc in the mean; see that request/);
    await page.click(".worst-moment button");
    assert.match((await page.textContent(".request-picture h3")) ?? "", /^Read .*4\.00/, "the nearest that was looked at closely");
    assert.deepEqual(complaints, []);
  });

  test("a comparison shows the worst moment in all runs, laid on each other by requests", async () => {
    const [slow, fast] = [result(), { ...result(), stack: "fast" }];
    const even = (run: Result, each: number, interval: number, longest: (at: number) => number): void => {
      const { columns } = run.series;
      run.series.interval_ns = interval;
      for (const name of Object.keys(columns)) columns[name] = columns["time_ns"]!.map(() => 0);
      columns["time_ns"] = columns["time_ns"]!.map((_, at) => at * interval);
      columns["read_requests"] = columns["time_ns"].map(() => each);
      columns["read_latency_max_ns"] = columns["time_ns"].map((_, at) => longest(at));
      run.sim_ns = interval * columns["time_ns"].length;
    };
    even(slow, 100, 10_000_000, (at) => (at === 7 ? 50_000_000 : 1_000_000));
    // Twice as many requests an interval: request 750 ends in the fourth of them.
    even(fast, 200, 10_000_000, (at) => (at === 3 ? 9_000_000 : 2_000_000));
    const { page, complaints } = await browser.open(await writePage(browser.folder, "all.html", [slow, fast]), { width: 1200, height: 900, scheme: "light" });
    const text = ((await page.textContent("#compare-moment")) ?? "").replaceAll("\u202f", " ");
    assert.match(text, /had the longest latency of all: a read of 50\.0 ms, about request 750/);
    const cells = await page.$$eval("#compare-moment tr", (rows) => rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.textContent?.replaceAll("\u202f", " "))));
    assert.deepEqual(cells.find(([label]) => label === "When")?.slice(1), ["70.0 ms to 80.0 ms", "30.0 ms to 40.0 ms"]);
    assert.deepEqual(cells.find(([label]) => label === "Longest latency")?.slice(1), ["50.0 ms", "9.00 ms"]);
    assert.deepEqual(complaints, []);
  });
});
