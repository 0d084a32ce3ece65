// Reads the world where the reader stands, and changes it by hand.
import { offerHint } from "../model/page.js";
import * as page from "../model/page.js";
import * as story from "../model/story.js";
import * as model from "../model/world.js";
import * as api from "../net/api.js";
import { ApiError } from "../net/api.js";
import { register } from "./commands.js";
import { attempt } from "./failure.js";
import { refresh, sid } from "./follow.js";

/** @import { Id, Json } from "../lib/wire.d.ts" */

/**
 * The world after a node, with what its turn changed: its own operations and those of the message it answers.
 * @param {Id | null} nid
 */
export async function readWorld(nid) {
  const session = story.session.peek();
  if (!session || !nid) return model.putWorld(null);
  if (model.known.peek()?.nid === nid) return;
  const node = story.peekNode(nid);
  const asked = story.peekNode(node?.parentId ?? null);
  const turn = node?.role === "assistant" && asked?.role === "user" ? [asked.id, nid] : [nid];
  try {
    const [at, ...deltas] = await Promise.all([
      api.world(session.id, nid),
      ...turn.map((id) => api.delta(session.id, id)),
    ]);
    if (here() !== nid) return;
    model.putWorld({ nid, at, deltas });
    if (node?.role === "assistant" && model.lostSomething()) offerHint("hint.goBack");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (here() === nid) model.worldFailed(error);
  }
}

/** The node whose world is shown. */
export const here = () => story.peek.value ?? story.head.value;

/** @param {string} path @param {Json} value @returns {Promise<boolean>} */
export async function setValue(path, value) {
  const nid = story.head.peek();
  if (!nid) return false;
  const done = await attempt(async () => {
    await api.changeWorld(sid(), nid, [{ op: "set", path, value }]);
    return true;
  });
  if (!done) return false;
  await refresh();
  return true;
}

register({
  id: "page.world",
  label: "command.world",
  icon: "world",
  scope: "page",
  keys: ["mod+i"],
  enabled: () => story.session.value !== null,
  run: () => {
    page.showWorldBeside(!page.worldBeside.peek());
    page.showPane(page.pane.peek() === "world" ? "chat" : "world");
  },
});
