// What can be said of the page without running it: its weight, the direction of its imports, its one way to markup.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../static");
const read = (path) => readFileSync(join(root, path), "utf8");
const scripts = readdirSync(join(root, "js"), { recursive: true })
  .map((path) => join("js", path))
  .filter((path) => path.endsWith(".js"));

/** What a module imports at once; `import()` is not among it. */
function imports(path) {
  const statements = read(path).matchAll(/^(?:import|export)\s[^;]*?from\s+"(\.[^"]+)"/gm);
  return [...statements].map(([, to]) => relative(root, resolve(root, dirname(path), to)));
}

test("the first load is at most 60 KB of script, compressed", () => {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    if (path.startsWith("js")) imports(path).forEach(visit);
  };
  visit("js/main.js");
  const bytes = [...seen].reduce((sum, path) => sum + gzipSync(read(path)).length, 0);
  assert.ok(bytes <= 60 * 1024, `${bytes} bytes in ${seen.size} modules`);
});

test("imports go one way: lib <- net, model <- tree <- actions <- views <- main", () => {
  const floors = { vendor: 0, lib: 1, net: 2, model: 3, tree: 4, actions: 5, views: 6, "main.js": 7 };
  const floorOf = (path) => floors[path.split("/")[path.startsWith("vendor") ? 0 : 1]];
  for (const path of scripts) {
    for (const to of imports(path)) {
      assert.ok(floorOf(to) <= floorOf(path), `${path} imports ${to}, which stands above it`);
      assert.ok(!(floorOf(path) === 3 && floorOf(to) === 2) || /ApiError/.test(read(path)), `${path} talks to the network`);
    }
  }
});

test("text becomes markup in lib/markdown.js only, and there through the sanitiser only", () => {
  const sinks = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|createContextualFragment|DOMParser|setHTML|\beval\(|new Function/;
  for (const path of scripts) assert.doesNotMatch(read(path), sinks, path);
  const users = scripts.filter((path) => read(path).includes("purify.js"));
  assert.deepEqual(users, ["js/lib/markdown.js"]);
});

test("state changes in model/ only", () => {
  for (const path of scripts.filter((p) => /^js\/(actions|views|tree|net)\//.test(p) || p === "js/main.js")) {
    const source = read(path);
    const imported = [...source.matchAll(/^import (?:\* as (\w+)|\{([^}]*)\}) from "\.\.?\/(?:\.\.\/)?model\/[^"]+"/gm)];
    const names = imported.flatMap(([, space, list]) => (space ? [`${space}\\.\\w+`] : list.split(",").map((name) => name.trim())));
    for (const name of names.filter(Boolean)) assert.doesNotMatch(source, new RegExp(`\\b${name}\\.value\\s*[-+*/|&?]*=[^=>]`), `${path} sets ${name}`);
  }
});

test("no script or style inside the page", () => {
  const page = read("index.html");
  assert.doesNotMatch(page, /<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/);
});
