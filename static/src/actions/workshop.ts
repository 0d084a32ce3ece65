// The workshop: viewing, changing, checking and trying rules. Nothing is written until a file is saved.
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { ApiError, projection } from "../net/api.ts";
import * as api from "../net/workshop.ts";
import { register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import type { ChatNode, Id, PluginReplay, HookTrial, FileTexts } from "../lib/wire.d.ts";
import type { PluginFileVersion } from "../lib/wire.d.ts";

/** Maximum number of messages of a replay. */
const MAX = 200;

export const readPlugins = () => api.plugins();

export const readPlugin = (id: string) => api.plugin(id);

/** Returns the text of a file; null if it does not exist or is not text. */
export async function readFile(id: string, path: string) {
  try {
    return (await api.file(id, path)).content;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/**
 * Saves a file, unless it changed since it was read.
 * @param was the text as read; null: no check
 */
export const saveFile = (
  id: string,
  path: string,
  content: string,
  was: string | null,
): Promise<PluginFileVersion | "changed" | undefined> =>
  attempt(async () => {
    if (was !== null && ((await readFile(id, path)) ?? "") !== was) return "changed";
    return api.saveFile(id, path, content);
  });

export const checkPlugin = (id: string, files: FileTexts) => attempt(() => api.check(id, files));

/** Reads the reference of everything that scripts can call. */
export const readReference = () => api.reference();

export const runTests = (id: string, files: FileTexts) => attempt(() => api.test(id, files));

export const tryHook = (id: string, wanted: HookTrial) => attempt(() => api.tryHook(id, wanted));

/** Runs the rules along the branch on screen without writing anything. Returns the results with their messages. */
export const runReplay = (id: string, wanted: PluginReplay) =>
  attempt(async () => {
    const answer = await api.replay(id, wanted);
    const unknown = answer.rows.some(({ nodeId }) => store.peekNode(nodeId) === null);
    const page = unknown
      ? await projection(wanted.sessionId, { ...(wanted.leafId && { leaf: wanted.leafId }), limit: 2 * MAX })
      : { items: [] };
    const nodes: Map<Id, ChatNode> = new Map(page.items.map((node) => [node.id, node]));
    for (const { nodeId } of answer.rows) {
      const known = store.peekNode(nodeId);
      if (known) nodes.set(nodeId, known);
    }
    return { ...answer, nodes };
  });

/** Applies the saved rules to the messages of a branch, as the replay showed that `wanted.shown` names. */
export const acceptReplay = (id: string, wanted: PluginReplay) =>
  attempt(() => api.replay(id, { ...wanted, accept: true }));

register({
  id: "page.workshop",
  label: "command.workshop",
  icon: "plug",
  scope: "page",
  run: () => openDialog({ kind: "workshop", pluginId: null }),
});
