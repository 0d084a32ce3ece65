// Generates static/src/lib/api.d.ts, the types of the HTTP contract and of the WebSocket frames, from docs/openapi.json.
// `node wire.mjs` writes it; `node wire.mjs --check` compares it with what is committed and fails on a difference. A test
// of the program compares docs/openapi.json with the server, so that the page cannot know another contract.
import openapiTS, { astToString } from "openapi-typescript";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const source = "docs/openapi.json";
const target = "static/src/lib/api.d.ts";

/** Names of the schemas to which a part of the document refers, directly or through others. */
function reached(/** @type {object} */ document, /** @type {unknown[]} */ parts) {
  const found = new Set();
  for (let text = JSON.stringify(parts); text !== ""; ) {
    const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]);
    const added = [...new Set(names)].filter((name) => !found.has(name));
    for (const name of added) found.add(name);
    text = added.map((name) => JSON.stringify(document.components.schemas[name])).join("");
  }
  return found;
}

/**
 * An answer has every field that has a default; a request may leave it out. The generator makes fields with a default
 * required everywhere, so the defaults of what is only sent to the server are removed. A default of null says no more
 * than that the field may be absent.
 */
function removeDefaults(/** @type {object} */ document) {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const answered = reached(
    document,
    operations.map((operation) => [operation.responses, operation["x-websocket"]?.sends]),
  );
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    for (const property of Object.values(schema.properties ?? {})) {
      if (property.default === null || !answered.has(name)) delete property.default;
    }
  }
}

/** A property of an interface cannot contain arrays of itself, so any JSON has a name of its own. */
const anyJson = "type AnyJson = null | boolean | number | string | AnyJson[] | { [key: string]: AnyJson };\n";

/** Schemas with a type of their own. Of objects that may have other fields, the page knows only those that are described. */
const own = {
  "#/components/schemas/Json": ts.factory.createTypeReferenceNode("AnyJson"),
  "#/components/schemas/OtherFields": ts.factory.createKeywordTypeNode(ts.SyntaxKind.UnknownKeyword),
};

async function generate() {
  const document = JSON.parse(await readFile(join(root, source), "utf8"));
  removeDefaults(document);
  // The page names its addresses itself (`net/`); it needs what they carry.
  const { openapi, info, components } = document;
  const types = await openapiTS(
    { openapi, info, paths: {}, components: { schemas: components.schemas } },
    { inject: anyJson, transform: (_, { path }) => own[path ?? ""] },
  );
  return `// Generated from ${source} by \`npm run wire\` in tools/vendor. Do not edit.\n\n${astToString(types)}`;
}

const text = await generate();
if (process.argv.includes("--check")) {
  const committed = await readFile(join(root, target), "utf8").catch(() => "");
  if (committed !== text) {
    console.error(`${target} is not what ${source} says: npm run wire in tools/vendor`);
    process.exit(1);
  }
} else {
  await writeFile(join(root, target), text);
}
