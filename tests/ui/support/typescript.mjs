// Compiles the page's TypeScript, for Node and for browser tests that call single modules.
//
// `node --import ./support/typescript.mjs --test lib.test.mjs` runs modules in Node. Node 20 does not
// support types. The esbuild of tools/vendor removes them, as for the page (`page.mjs` there).
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire, register } from "node:module";
import { tmpdir } from "node:os";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

const STATIC = fileURLToPath(new URL("../../../static", import.meta.url));
const TOOLS = new URL("../../../tools/vendor/package.json", import.meta.url);

// Node runs `load` in its own thread, which evaluates this file again.
if (isMainThread && process.execArgv.some((argument) => argument.includes("typescript.mjs"))) register(import.meta.url);

/** Options that remove the types and turn JSX into calls of `h`. */
const OPTIONS = {
  sourcemap: /** @type {const} */ ("inline"),
  charset: /** @type {const} */ ("utf8"),
  jsxFactory: "h",
  jsxFragment: "Fragment",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
};

/** The load hook of Node. @param {string} url @param {object} context @param {(url: string, context: object) => Promise<object>} next */
export async function load(url, context, next) {
  if (!/^file:.*\.tsx?$/.test(url)) return next(url, context);
  const path = fileURLToPath(url);
  const { transform } = createRequire(TOOLS)("esbuild");
  const { code } = await transform(await readFile(path, "utf8"), {
    ...OPTIONS,
    loader: extname(path).slice(1),
    sourcefile: path,
  });
  return { format: "module", source: code, shortCircuit: true };
}

/**
 * Writes the page to a folder with each module in its own file, for tests that call modules by their path below `js/`.
 * The folder is removed with the process. Synchronous, because servers are about to start.
 * @returns {string} for `server.static_dir`
 */
export function pageOfModules() {
  const folder = mkdtempSync(join(tmpdir(), "clotho-page-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  cpSync(STATIC, folder, {
    recursive: true,
    filter: (path) => !/^(?:src|built\/(?:js|css))$/.test(path.slice(STATIC.length + 1)),
  });
  const modules = readdirSync(join(STATIC, "src"), { recursive: true }).filter((path) => /(?<!\.d)\.tsx?$/.test(path));
  const { outputFiles } = createRequire(TOOLS)("esbuild").buildSync({
    ...OPTIONS,
    entryPoints: modules.map((path) => join(STATIC, "src", path)),
    outbase: join(STATIC, "src"),
    outdir: join(folder, "js"),
    write: false,
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text.replace(/((?:from|import)\s*\(?\s*"\.[^"]+)\.tsx?"/g, '$1.js"'));
  }
  const page = join(folder, "index.html");
  writeFileSync(page, readFileSync(page, "utf8").replaceAll("/built/", "/").replace("{{ahead}}", ""));
  return folder;
}
