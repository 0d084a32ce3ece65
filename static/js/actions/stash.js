// Taking out, putting back, moving, naming; and taking any of it back.
import { t, wordFor } from "../lib/i18n.js";
import { openDialog, tell } from "../model/page.js";
import { carry, moving, putArrangement } from "../model/arrangement.js";
import * as story from "../model/story.js";
import * as api from "../net/arrange.js";
import { ApiError } from "../net/api.js";
import { isLinear } from "../tree/line.js";
import { canArrange } from "./arrange.js";
import { register } from "./commands.js";
import { attempt, wordsFor } from "./failure.js";
import { refresh, sid } from "./follow.js";
import { writeDraft } from "./turn.js";

/** @import { Arranged, ChatNode, Id, Label, TreeEdit } from "../lib/wire.d.ts" */
/** @import { Key } from "../lib/i18n.js" */

/** Learns of names and of the stash; without an answer they are simply not shown. */
export async function readArrangement() {
  const id = story.session.peek()?.id;
  if (!id) return;
  const [labels, fragments] = await Promise.all([api.labels(id).catch(() => []), api.stash(id).catch(() => [])]);
  putArrangement({ sid: id, labels, fragments });
}

/** @param {TreeEdit[]} edits @returns {Promise<Arranged | undefined>} */
async function arrange(edits) {
  const id = sid();
  const arranged = await attempt(() => api.arrange(id, edits));
  if (arranged && story.session.peek()?.id === id) await Promise.all([refresh(), readArrangement()]);
  return arranged;
}

/** What else an edit did, where it did anything. @param {{worldChanges: unknown[]}} made */
const worldWords = ({ worldChanges }) => (worldChanges.length > 0 ? t("arranged.world", { n: worldChanges.length }) : "");

/** @param {Arranged} made @param {Key} key */
const say = (made, key) => tell({ tone: "quiet", text: t(key), hint: worldWords(made), act: turning("undo", made.op) });

/** What a notice offers is about its own step: once the story has gone on it takes nothing else back. @param {"undo" | "redo"} which @param {number} seen */
const turning = (which, seen) => ({ label: /** @type {Key} */ (`command.${which}`), run: () => void turnBack(which, seen) });

// Undo

/** Takes the newest step back, or brings it back again. @param {"undo" | "redo"} which @param {number} [seen] */
async function turnBack(which, seen) {
  const id = sid();
  const before = story.line.peek().map(story.peekNode);
  try {
    const turned = await api.turnBack(id, which, seen);
    await Promise.all([refresh(), readArrangement()]);
    if (story.session.peek()?.id !== id) return;
    if (turned.kind === "message") keepText(which, before);
    const what = wordFor(`act.${turned.kind}`) || t("act.other");
    const other = which === "undo" ? "redo" : "undo";
    tell({ tone: "quiet", text: t(`notice.${which}`, { what }), hint: worldWords(turned), act: turning(other, turned.op) });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "nothing_to_undo") tell({ tone: "quiet", text: t(`notice.nothingTo.${which}`) });
    else if (error.code === "head_moved") tell({ tone: "quiet", text: t("notice.goneOn") });
    else if (error.code === "conflict") tell({ tone: "quiet", text: t("notice.builtUpon"), hint: wordsFor(error).text });
    else tell({ tone: "error", ...wordsFor(error) });
  }
}

/** What was typed is in the field again when it is taken back, and out of it when it is brought back. @param {"undo" | "redo"} which @param {(ChatNode | null)[]} before */
function keepText(which, before) {
  const line = story.line.peek();
  const draft = story.draft.peek().trim();
  const gone = before.find((node) => node?.role === "user" && !line.includes(node.id));
  if (which === "undo" && gone && draft === "") writeDraft(gone.content);
  const back = line.map(story.peekNode).find((node) => node?.role === "user" && !before.some((old) => old?.id === node.id));
  if (which === "redo" && back?.content === draft) writeDraft("");
}

for (const which of /** @type {const} */ (["undo", "redo"])) {
  register({
    id: `session.${which}`,
    label: `command.${which}`,
    icon: which,
    scope: "page",
    keys: which === "undo" ? ["mod+z"] : ["mod+shift+z", "mod+y"],
    leavesTyping: true,
    enabled: () => story.session.value !== null && story.peek.value === null,
    run: () => turnBack(which),
  });
}

// The stash

register({
  id: "message.prune",
  label: "command.prune",
  icon: "trash",
  scope: "message",
  rearranges: true,
  keys: ["Delete"],
  enabled: ({ node }) => canArrange(node) || (node?.status === "error" && story.peek.value === null && !isLinear.value),
  run: async ({ node }) => {
    const made = node && (await arrange([{ op: "prune", nodeId: node.id }]));
    if (!made) return;
    // A reply that failed is watched, and is in nobody's line.
    if (story.watched.peek() === node.id) story.unwatch();
    say(made, "notice.pruned");
  },
});

/** Puts a fragment back to where it was. @param {Id} fragmentId */
export async function putBack(fragmentId) {
  const made = await arrange([{ op: "graft", fragmentId }]);
  if (made) say(made, "notice.putBack");
  return made !== undefined;
}

/** @param {Id} fragmentId @param {string} name empty: none */
export const renameFragment = (fragmentId, name) => arrange([{ op: "rename", fragmentId, name: name || null }]);

/** @param {Id} fragmentId @param {string} [cursor] */
export const readFragment = (fragmentId, cursor) => api.fragment(sid(), fragmentId, cursor);

register({
  id: "session.stash",
  label: "command.stash",
  icon: "stash",
  scope: "page",
  enabled: () => story.session.value !== null && !isLinear.value,
  run: () => {
    openDialog({ kind: "stash" });
    void readArrangement();
  },
});

// Moving

/** A place for a fragment is chosen in the story. @param {Id} fragmentId @param {string} name */
export function place(fragmentId, name) {
  openDialog(null);
  carry({ fragmentId, name });
}

register({
  id: "message.move",
  label: "command.move",
  icon: "move",
  scope: "message",
  rearranges: true,
  enabled: ({ node }) => canArrange(node) && moving.value === null,
  run: ({ node }) => node && carry({ nodeId: node.id, name: node.content }),
});

register({
  id: "message.placeHere",
  label: "command.placeHere",
  icon: "move",
  scope: "message",
  rearranges: true,
  keys: ["p"],
  enabled: ({ node }) => moving.value !== null && canArrange(node),
  run: async ({ node }) => {
    const what = moving.peek();
    if (!what || !node) return;
    const { name: _, ...piece } = what;
    const made = await arrange([{ op: "graft", ...piece, targetId: node.id, mode: "move" }]);
    if (!made) return;
    carry(null);
    say(made, "notice.moved");
  },
});

register({
  id: "moving.cancel",
  label: "command.moveCancel",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => moving.value !== null,
  run: () => carry(null),
});

// Names

/** @param {Id} nodeId @param {string} name @param {boolean} following whether it moves with what is written there */
export const putLabel = (nodeId, name, following) => arrange([{ op: "label", nodeId, name, following }]);

/** @param {Label} label @param {string} name */
export const renameLabel = ({ name: old, nodeId, following }, name) => arrange([{ op: "unlabel", name: old }, { op: "label", nodeId, name, following }]);

/** @param {string} name */
export const dropLabel = (name) => arrange([{ op: "unlabel", name }]);

register({
  id: "message.label",
  label: "command.label",
  icon: "bookmark",
  scope: "message",
  keys: ["n"],
  enabled: ({ node }) => canArrange(node),
  run: ({ node }) => node && openDialog({ kind: "label", nid: node.id }),
});
