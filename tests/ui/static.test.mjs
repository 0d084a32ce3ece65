// Tests of the page without running it: its size, the direction of its imports, and its one way to markup.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../static");
const read = (path) => readFileSync(join(root, path), "utf8");
const scripts = readdirSync(join(root, "src"), { recursive: true })
  .map((path) => join("src", path))
  .filter((path) => /(?<!\.d)\.tsx?$/.test(path));

/** Returns what a module imports statically. Types and `import()` are left out. */
function imports(path) {
  const statements = read(path).matchAll(/^(?:import|export)\s(?!type\b)[^;]*?from\s+"(\.[^"]+)"/gm);
  return [...statements].map(([, to]) => relative(root, resolve(root, dirname(path), to)));
}

/** Returns what a file of static/built imports statically; vendored files import nothing. */
const builtImports = (path) =>
  path.startsWith("vendor")
    ? []
    : [...read(path).matchAll(/(?:from|import)\s*"(\.[^"]+)"/g)].map(([, to]) =>
        relative(root, resolve(root, dirname(path), to)),
      );

/** Returns some files with everything that they import. */
function withImports(paths, seen = new Set()) {
  for (const path of paths) if (!seen.has(path)) withImports(builtImports(path), seen.add(path));
  return seen;
}

// The limits are the sizes at the time of writing plus some room. Give the reason here when you raise one.
for (const [page, begins, most] of [
  ["the library", ["main"], 40],
  ["a story", ["main", "story"], 106],
]) {
  test(`the first load of ${page} is at most ${most} KB of script in few files, compressed`, () => {
    const files = [...withImports(begins.map((name) => `built/js/${name}.js`))];
    const bytes = files.reduce((sum, path) => sum + gzipSync(read(path)).length, 0);
    assert.ok(bytes <= most * 1024 && files.length <= 6, `${bytes} bytes in ${files}`);
  });
}

test("imports go one way: lib <- net, model <- tree <- actions <- views <- main", () => {
  const floors = { vendor: 0, lib: 1, net: 2, model: 3, tree: 4, actions: 5, views: 6, "main.tsx": 7 };
  const floorOf = (path) => floors[path.split("/")[path.startsWith("vendor") ? 0 : 1]];
  for (const path of scripts) {
    for (const to of imports(path)) {
      assert.ok(floorOf(to) <= floorOf(path), `${path} imports ${to}, which stands above it`);
      assert.ok(
        !(floorOf(path) === 3 && floorOf(to) === 2) || /ApiError/.test(read(path)),
        `${path} talks to the network`,
      );
    }
  }
});

test("only lib/markdown.ts turns text into markup, and only through the sanitiser", () => {
  const sinks =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|createContextualFragment|DOMParser|setHTML|\beval\(|new Function/;
  for (const path of scripts) assert.doesNotMatch(read(path), sinks, path);
  const users = scripts.filter((path) => read(path).includes("purify.js"));
  assert.deepEqual(users, ["src/lib/markdown.ts"]);
});

test("only model/ changes state", () => {
  for (const path of scripts.filter((p) => /^src\/(actions|views|tree|net)\//.test(p) || p === "src/main.tsx")) {
    const source = read(path);
    const imported = [
      ...source.matchAll(/^import (?:\* as (\w+)|\{([^}]*)\}) from "\.\.?\/(?:\.\.\/)?model\/[^"]+"/gm),
    ];
    const names = imported.flatMap(([, space, list]) =>
      space ? [`${space}\\.\\w+`] : list.split(",").map((name) => name.trim()),
    );
    for (const name of names.filter(Boolean))
      assert.doesNotMatch(source, new RegExp(`\\b${name}\\.value\\s*[-+*/|&?]*=[^=>]`), `${path} sets ${name}`);
  }
});

test("the document has no inline script or style", () => {
  const page = read("index.html");
  assert.doesNotMatch(page, /<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/);
});
