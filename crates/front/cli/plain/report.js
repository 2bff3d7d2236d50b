// The page of a program that was built without Node.js: the answer, notes and key figures of results of the form
// nandarium.result/2.
"use strict";
{
  const { answer, notes, results } = JSON.parse(document.getElementById("results").textContent);
  const report = document.getElementById("report");
  const add = (parent, name, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };
  const time = (ns) => {
    if (ns === null) return "–";
    const [unit, by] = ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ns >= 1e3 ? ["us", 1e3] : ["ns", 1];
    return `${Number((ns / by).toPrecision(3))} ${unit}`;
  };
  if (answer) add(report, "p", answer.sentence);
  for (const note of notes) add(report, "p", note);
  for (const result of results) {
    add(report, "h2", result.stack);
    const table = add(report, "table");
    const row = (cells) => {
      const line = add(table, "tr");
      cells.forEach((cell, place) => add(line, place === 0 || cells === heads ? "th" : "td", cell));
    };
    const heads = ["latency", "requests", "mean", "p50", "p99", "p99.9", "most"];
    row(heads);
    for (const [name, latency] of Object.entries(result.latency_ns)) {
      if (latency.count > 0) {
        row([name, String(latency.count), ...["mean", "p50", "p99", "p999", "max"].map((key) => time(latency[key]))]);
      }
    }
    add(report, "p", `Write amplification: ${result.waf?.total?.toPrecision(3) ?? "–"}.`);
    for (const note of result.notes ?? []) add(report, "p", note);
  }
}
