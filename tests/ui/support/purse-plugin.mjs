// Creates a plugin in a folder, a server that loads it, and a session in which it counted.
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { waitUntil } from "./browser.mjs";
import { startClotho } from "./server.mjs";

const FILES = {
  "plugin.toml": `id = "purse"
title = { en = "Purse", zh = "钱袋" }
description = { en = "Counts the gold that is found and spent", zh = "数一数捡到和花掉的金币" }
version = "1.0.0"
api = "1"
authors = ["Rin"]

[state]
schema = "state.schema.json"
version = 1

[config.start]
type = "integer"
default = 10
min = 0
max = 1000
label = { en = "Gold at the start", zh = "起始金币" }

[permissions]
request = ["notes"]
`,
  "main.rhai": `const FOUND = "(?i)finds? (?<n>\\\\d+) gold";

fn init(ctx) {
    ctx.set("gold", ctx.config.start);
}

fn on_reply(ctx) {
    for found in ctx.find_all(global::FOUND) {
        ctx.add("gold", parse_int(found.n), "found");
    }
    if ctx.get("gold") > 20 { ctx.note("The purse is heavy."); }
}
`,
  "state.schema.json": JSON.stringify(
    {
      title: "Purse",
      type: "object",
      properties: {
        gold: { title: "Gold", type: "integer", minimum: 0, default: 0, "x-ui": { as: "chip", title: { zh: "金币" } } },
      },
      additionalProperties: false,
    },
    null,
    2,
  ),
};

/** @param {Record<string, string>} files @param {string} [id] @param {string} [top] @returns {Promise<string>} a folder with one plugin in it */
export async function pluginFolder(files, id = "purse", top = "") {
  const folder = top || (await mkdtemp(join(tmpdir(), "clotho-plugins-")));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, id, path)), { recursive: true });
    await writeFile(join(folder, id, path), text);
  }
  return folder;
}

/**
 * @param {{url: string, queueReply: (pieces: string[]) => void}} model
 * @param {{replies?: string[], plugins?: object[], files?: Record<string, string>, id?: string, keeper?: string}} [how] `keeper`: the model that keeps the values
 */
export async function createPurseSession(
  model,
  {
    replies = ["She finds 5 gold.", "Nothing here.", "She finds 7 gold."],
    plugins = [{ id: "purse" }],
    files = FILES,
    id = "purse",
    keeper = "",
  } = {},
) {
  const folder = await pluginFolder(files, id);
  const server = await startClotho(`
[plugins]
dir = "${folder}"

[[providers]]
id = "mock"
base_url = "${model.url}"
models = ["m", "k"]
`);
  const character = await server.api("POST", "/api/characters", { name: "Rin", firstMessage: "The market opens." });
  const { id: sid, activeLeafId } = await server.api("POST", "/api/sessions", {
    characterIds: [character.id],
    model: "mock/m",
    plugins,
  });
  if (keeper) await server.api("PATCH", `/api/sessions/${sid}`, { valuesModel: keeper });
  let parentId = activeLeafId;
  /** @type {string[]} */
  const ids = [];
  for (const [n, text] of replies.entries()) {
    model.queueReply([text]);
    const { generations } = await server.api("POST", `/api/chat/${sid}/message`, {
      parentId,
      content: `Look around, ${n + 1}.`,
      generate: true,
    });
    parentId = generations[0].id;
    await waitUntil(
      async () => (await server.api("GET", `/api/chat/${sid}/node/${parentId}`)).status === "complete",
      "the reply",
    );
    ids.push(parentId);
  }
  const disk = (/** @type {string} */ path) => readFile(join(folder, id, path), "utf8");
  return { server, sid, ids, folder, disk, path: `/s/${sid}` };
}
