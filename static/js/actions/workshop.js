// The workshop: rules are looked at, changed, checked and tried, and nothing of it is written until a file is saved.
import { openDialog } from "../model/page.js";
import * as story from "../model/story.js";
import { ApiError, projection } from "../net/api.js";
import * as api from "../net/workshop.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";

/** @import { ChatNode, Id, PluginReplay, PluginTry, Texts } from "../lib/wire.d.ts" */

/** The most messages along which rules run again. */
const MOST = 200;

export const readPlugins = () => api.plugins();

/** @param {string} id */
export const readPlugin = (id) => api.plugin(id);

/** The text of a file; null: there is none of that name, or it is no text. @param {string} id @param {string} path */
export async function readFile(id, path) {
  try {
    return (await api.file(id, path)).content;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/**
 * Saves a file, unless it is another one by now than when it was read.
 * @param {string} id @param {string} path @param {string} content @param {string | null} was what stood there; null: whatever stands there
 * @returns {Promise<import("../lib/wire.d.ts").PluginFileKept | "changed" | undefined>}
 */
export const saveFile = (id, path, content, was) =>
  attempt(async () => {
    if (was !== null && ((await readFile(id, path)) ?? "") !== was) return "changed";
    return api.keepFile(id, path, content);
  });

/** @param {string} id @param {Texts} files */
export const check = (id, files) => attempt(() => api.check(id, files));

/** What scripts can call. */
export const readReference = () => api.reference();

/** Runs the tests of a plugin. @param {string} id @param {Texts} files */
export const runTests = (id, files) => attempt(() => api.test(id, files));

/** @param {string} id @param {PluginTry} wanted */
export const tryHook = (id, wanted) => attempt(() => api.tryHook(id, wanted));

/** What the rules would have done along the line on screen, with the messages that it tells of. @param {string} id @param {PluginReplay} wanted */
export const replay = (id, wanted) =>
  attempt(async () => {
    const told = await api.replay(id, wanted);
    const unknown = told.rows.some(({ nodeId }) => story.peekNode(nodeId) === null);
    const page = unknown ? await projection(wanted.sessionId, { ...(wanted.leafId && { leaf: wanted.leafId }), limit: 2 * MOST }) : { items: [] };
    /** @type {Map<Id, ChatNode>} */
    const nodes = new Map(page.items.map((node) => [node.id, node]));
    for (const { nodeId } of told.rows) {
      const known = story.peekNode(nodeId);
      if (known) nodes.set(nodeId, known);
    }
    return { ...told, nodes };
  });

/** Lets the messages of the line on screen do what the saved rules say now. @param {string} id @param {PluginReplay} wanted */
export const acceptReplay = (id, wanted) => attempt(() => api.replay(id, { ...wanted, accept: true }));

register({
  id: "page.workshop",
  label: "command.workshop",
  icon: "plug",
  scope: "page",
  run: () => openDialog({ kind: "workshop", pluginId: null }),
});
