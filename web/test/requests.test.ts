import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Closeup, Result } from "../src/types";
import { Browser, MISSING, writePage, type Opened } from "./page";
import { sample } from "./sample";

/** A read that waited for a program and an erase on its die, or one that waited for nothing. */
function request(latency: number, role: Closeup["role"], waits: boolean): Closeup {
  const own = latency / 10;
  const slices = waits
    ? { track: [1, 1, 1], begin_ns: [-5_000, latency / 2, latency - own], ns: [5_000 + latency / 2, latency / 2 - own, own], work: ["program", "erase", "read"], cause: ["host", "gc", "host"], pages: [1, 1, 2], own: [false, false, true] }
    : { track: [0], begin_ns: [0], ns: [latency], work: ["read"], cause: ["host"], pages: [1], own: [true] };
  const waited = waits ? { host: latency / 2, gc: latency / 2 - own } : {};
  return { role, op: "read", byte: 4096, bytes: 8192, arrival_ns: 1_000_000, latency_ns: latency, waited_ns: waited as Closeup["waited_ns"], cut_short: false, slices };
}

function result(): Result {
  const run = sample({ stack: "page", seed: 7, pressure: 1 });
  const latencies = [4_000_000, 3_000_000, 2_000_000];
  const write: Closeup = { ...request(900_000, "slowest", false), op: "write", slices: { track: [], begin_ns: [], ns: [], work: [], cause: [], pages: [], own: [] } };
  run.closeups = {
    tracks: ["die 0 (channel 0)", "die 1 (channel 1)"],
    requests: [...latencies.map((latency) => request(latency, "slowest", true)), request(60_000, "typical", false), request(400_000, "between", true), write],
  };
  return run;
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
    const plain = await browser.open(await writePage(browser.folder, "plain.html", [sample({ stack: "page", seed: 7, pressure: 1 })]), { width: 1200, height: 900, scheme: "light" });
    assert.equal(await plain.page.locator("[id$=requests], a[href$=requests]").count(), 0);
  });
});
