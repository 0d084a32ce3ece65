// Commands that change a message without its text: whether the prompt contains it, whether its effects count, its
// rating, and where HEAD is.
import { t } from "../lib/i18n.ts";
import { copyText } from "../lib/clipboard.ts";
import { openMenu } from "../lib/focus.ts";
import { notify } from "../model/page.ts";
import { deltaOf } from "../model/deltas.ts";
import * as store from "../model/session-store.ts";
import { recordStep } from "../model/head-moves.ts";
import * as api from "../net/api.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { newestLeaf } from "./branches.ts";
import { always, register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { refresh, sid, moveHead } from "./session-sync.ts";
import { navigate } from "./navigation.ts";
import type { ChatNode, NodeState } from "../lib/wire.d.ts";

/** Returns whether a model reads the session. A narrator plugin does not read the messages. */
export const isReadByModel = () => !store.session.value?.model?.startsWith("plugin:");

export const isCompleteMessage = (node: ChatNode | null) => node?.status === "complete" && node.kind !== "change";

/**
 * Returns whether a message can be rearranged: the page shows the current branch of the tree, neither another branch
 * nor the linear view.
 */
export const canArrange = (node: ChatNode | null) =>
  isCompleteMessage(node) && store.viewedLeaf.value === null && !isLinear.value;

async function setMessageState(node: ChatNode | null, state: Omit<NodeState, "id">) {
  const result = node && (await attempt(() => api.setState(sid(), node.id, state)));
  if (!result) return;
  recordStep(result.op);
  store.setNodeState({ id: node.id, ...state });
  await refresh();
}

register({
  id: "message.menu",
  label: "command.menu",
  icon: "more",
  scope: "message",
  keys: ["m", "ContextMenu"],
  run: ({ node }) => node && openMenu(node.id),
});

register({
  id: "message.leaveOut",
  label: "command.leaveOut",
  icon: "eyeOff",
  scope: "message",
  keys: ["x"],
  inTree: always,
  enabled: ({ node }) => canArrange(node) && node?.isEnabled !== false && isReadByModel(),
  run: ({ node }) => setMessageState(node, { isEnabled: false }),
});

register({
  id: "message.putBack",
  label: "command.putBack",
  icon: "eye",
  scope: "message",
  keys: ["x"],
  inTree: always,
  enabled: ({ node }) => canArrange(node) && node?.isEnabled === false,
  run: ({ node }) => setMessageState(node, { isEnabled: true }),
});

register({
  id: "message.mute",
  label: "command.mute",
  icon: "worldOff",
  scope: "message",
  enabled: ({ node }) =>
    canArrange(node) && node?.effects !== "muted" && (deltaOf(node?.id ?? "")?.operations?.length ?? 0) > 0,
  run: ({ node }) => setMessageState(node, { effects: "muted" }),
});

register({
  id: "message.unmute",
  label: "command.unmute",
  icon: "world",
  scope: "message",
  enabled: ({ node }) => canArrange(node) && node?.effects === "muted",
  run: ({ node }) => setMessageState(node, { effects: "on" }),
});

/**
 * Sets the rating of a message, or removes it.
 * @param stars number of stars; 0 or the current rating removes it
 */
export const rate = (node: ChatNode, stars: number) =>
  setMessageState(node, { rating: stars === 0 || stars === node.metadata?.rating ? null : stars });

register({
  id: "message.rate",
  label: "command.rate",
  icon: "star",
  scope: "message",
  keys: ["1", "2", "3", "4", "5", "0"],
  enabled: ({ node }) => isCompleteMessage(node),
  run: ({ node, key }) => node && rate(node, Number(key)),
});

register({
  id: "message.link",
  label: "command.link",
  icon: "link",
  scope: "message",
  keys: ["l"],
  enabled: ({ node }) => isCompleteMessage(node),
  run: async ({ node }) => {
    if (node && (await copyText(`${location.origin}/s/${sid()}/${node.id}`)))
      notify({ tone: "quiet", text: t("notice.linkCopied") });
  },
});

register({
  id: "message.setCurrent",
  label: "command.setCurrent",
  icon: "here",
  scope: "message",
  enabled: ({ node }) => isCompleteMessage(node) && store.viewedLeaf.value !== null && !isLinear.value,
  run: async ({ node }) => {
    if (node && (await moveHead(node.id, true))) navigate(`/s/${sid()}`, true);
  },
});

/** Switches between the tree and a view of one branch without alternatives. Both keep the whole tree. */
async function switchMode() {
  const mode = isLinear.peek() ? "tree" : "linear";
  const leaf = mode === "linear" ? await attempt(newestLeaf) : null;
  if (leaf === undefined || !(await attempt(() => api.changeSession(sid(), { mode })))) return;
  store.updateSession({ mode });
  // The linear view shows the branch that grew last.
  if (leaf && leaf !== store.head.peek()) await moveHead(leaf, true);
  else await refresh();
  notify({ tone: "quiet", text: t(mode === "linear" ? "notice.linear" : "notice.tree") });
}

register({
  id: "session.linear",
  label: "command.linear",
  icon: "line",
  scope: "page",
  enabled: () => store.session.value !== null && !isLinear.value,
  run: switchMode,
});

register({
  id: "session.tree",
  label: "command.tree",
  icon: "branch",
  scope: "page",
  enabled: () => isLinear.value,
  run: switchMode,
});
