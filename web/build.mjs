// Builds the three files the Rust binary embeds: dist/report.js, dist/report.css and dist/template.html.
// With --tests it bundles the test files into .build/ instead.
import { build } from "esbuild";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";

const PLACEHOLDERS = ["/*CSS*/", "/*JS*/", "<!--TITLE-->", "/*RESULTS*/"];

if (process.argv.includes("--tests")) {
  const files = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: files.map((name) => `test/${name}`),
    outdir: ".build",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
  });
} else {
  await rm("dist", { recursive: true, force: true });
  await mkdir("dist");
  await build({
    entryPoints: { report: "src/main.ts" },
    outdir: "dist",
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    legalComments: "none",
    charset: "ascii",
  });
  await build({
    entryPoints: { report: "src/style/report.css" },
    outdir: "dist",
    bundle: true,
    minify: true,
    legalComments: "none",
    charset: "ascii",
  });
  const template = await readFile("src/template.html", "utf8");
  for (const placeholder of PLACEHOLDERS) {
    if (template.split(placeholder).length !== 2) throw new Error(`template.html needs ${placeholder} exactly once`);
  }
  await writeFile("dist/template.html", template);
  await assertEmbeddable("dist/report.js", /<\/script|<!--|\/\*(CSS|JS|RESULTS)\*\//i);
  await assertEmbeddable("dist/report.css", /<\/style|@import|url\((?!["']?data:)|\/\*(CSS|JS|RESULTS)\*\//i);
}

/** A bundle that closes its own tag, holds a placeholder or points to another file would break the page only once embedded. */
async function assertEmbeddable(file, forbidden) {
  const found = forbidden.exec(await readFile(file, "utf8"));
  if (found) throw new Error(`${file} contains ${JSON.stringify(found[0])} and cannot be embedded`);
}
