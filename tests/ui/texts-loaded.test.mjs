// A part of the page that is loaded later must bring the English texts it shows: `t` cannot wait for them. This reads
// the imports of the sources, without a browser.
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { posix } from "node:path";
import { test } from "node:test";

const SOURCE = new URL("../../static/src/", import.meta.url);
const files = (await readdir(SOURCE, { recursive: true })).filter((file) => /(?<!\.d)\.tsx?$/.test(file));
/** The source text of each module, by its path below `static/src`. */
const sources = new Map(
  await Promise.all(
    files.map(async (file) => /** @type {const} */ ([file, await readFile(new URL(file, SOURCE), "utf8")])),
  ),
);

/** @param {string} file @param {RegExp} pattern with the address of a module as its first group */
const modulesIn = (file, pattern) =>
  [...(sources.get(file) ?? "").matchAll(pattern)]
    .map(([, address = ""]) => posix.join(posix.dirname(file), address))
    .filter((module) => sources.has(module));
const STATIC_IMPORT = /^(?:import|export)(?!\s+type)(?:[^;()]*?\sfrom\s+|\s+)"(\.[^"]+)"/gm;
const DYNAMIC_IMPORT = /import\(\s*"(\.[^"]+)"\s*\)/g;
/** Texts that are loaded with a part, by file: `en.ts` is always there. */
const isPart = (/** @type {string} */ file) => /^lib\/strings\/en-.*\.ts$/.test(file);
const isStrings = (/** @type {string} */ file) => file.startsWith("lib/strings/");

/** Returns all modules that are loaded together with one. @param {string} entry */
function loadedWith(entry) {
  const modules = new Set([entry]);
  for (const module of modules) for (const imported of modulesIn(module, STATIC_IMPORT)) modules.add(imported);
  return [...modules].filter((module) => !isStrings(module));
}

/** The modules of each part of the page, by the module that is imported to load it. */
const parts = new Map([["main.tsx", loadedWith("main.tsx")]]);
for (const modules of parts.values())
  for (const entry of modules.flatMap((module) => modulesIn(module, DYNAMIC_IMPORT)))
    if (!isStrings(entry) && !parts.has(entry)) parts.set(entry, loadedWith(entry));

/** The files with each text. @type {Map<string, string[]>} */
const filesWith = new Map();
for (const file of files.filter(isPart))
  for (const key of Object.keys((await import(new URL(file, SOURCE).href)).default))
    filesWith.set(key, [...(filesWith.get(key) ?? []), file]);

/** Returns the files of texts that a part adds itself. @param {string[]} modules */
const addedBy = (modules) =>
  modules
    .filter((module) => sources.get(module)?.includes("addEnglish("))
    .flatMap((module) => [...modulesIn(module, STATIC_IMPORT), ...modulesIn(module, DYNAMIC_IMPORT)])
    .filter(isPart);

/**
 * Returns the files of texts that are there when a part is loaded: its own, and those that every part which loads it
 * has.
 */
function textsOfParts() {
  const all = files.filter(isPart);
  const texts = new Map([...parts.keys()].map((entry) => [entry, new Set(all)]));
  for (let changed = true; changed; ) {
    changed = false;
    for (const [entry, modules] of parts) {
      const loaders = [...parts].filter(
        ([other, loader]) =>
          other !== entry && loader.some((module) => modulesIn(module, DYNAMIC_IMPORT).includes(entry)),
      );
      const inherited = all.filter(
        (file) => loaders.length > 0 && loaders.every(([other]) => texts.get(other)?.has(file)),
      );
      const now = new Set([...inherited, ...addedBy(modules)]);
      changed ||= now.size !== texts.get(entry)?.size;
      texts.set(entry, now);
    }
  }
  return texts;
}

test("each part of the page brings the texts that it shows", () => {
  assert.ok(parts.size > 40, `${parts.size} parts`);
  const missing = [];
  const texts = textsOfParts();
  for (const [entry, modules] of parts)
    for (const module of modules)
      for (const [, key = ""] of (sources.get(module) ?? "").matchAll(/["'`]([a-z]\w*(?:\.\w+)+)["'`]/g)) {
        const needed = filesWith.get(key);
        if (needed && !needed.some((file) => texts.get(entry)?.has(file)))
          missing.push(`${entry} shows ${key} (${module}) without ${needed.join(" or ")}`);
      }
  assert.deepEqual(missing, []);
});
