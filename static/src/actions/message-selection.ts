// Actions on several selected messages, and the export of a branch as a file.
import { t } from "../lib/i18n.ts";
import { copyText } from "../lib/clipboard.ts";
import { download } from "../lib/download.ts";
import { setSelectedIds, selectedIds, moving } from "../model/arrangement.ts";
import { deltaOf, invalidateDeltas } from "../model/deltas.ts";
import { dialog, openDialog, notify } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { recordStep } from "../model/head-moves.ts";
import * as api from "../net/arrange.ts";
import { shownIds } from "../tree/shown-branch.ts";
import { speakerName } from "../tree/speaker.ts";
import { canArrange, isReadByModel } from "./message-state.ts";
import { always, register } from "./commands.ts";
import { attempt } from "./error-text.ts";
import { refresh, sid } from "./session-sync.ts";
import { notifyEdit } from "./stash.ts";
import { shownTextOf } from "./turn.ts";
import type { ChatNode, Id, NodeState } from "../lib/wire.d.ts";

/** The message selected last; a range begins here. */
let rangeStart: Id | null = null;

/** Returns the messages of the branch that can be selected, in branch order. */
const selectableIds = () => shownIds.value.filter((one) => canArrange(store.nodeOf(one)));

/** Returns the selected messages in branch order. */
const selectedNodes = () =>
  selectableIds()
    .filter((id) => selectedIds.value?.includes(id))
    .map(store.nodeOf) as ChatNode[];

/** Returns all messages from the first selected one to the last. */
function selectionRange() {
  const line = selectableIds();
  const places = (selectedIds.value ?? []).map((id) => line.indexOf(id)).filter((at) => at >= 0);
  return line.slice(Math.min(...places), Math.max(...places) + 1);
}

/** Selects a message or removes it from the selection. With `range`, selects all from the last one to this one. */
export function toggleSelected(id: Id, range: boolean) {
  const now = selectedIds.peek() ?? [];
  const line = selectableIds();
  const [one, two] = [line.indexOf(rangeStart ?? ""), line.indexOf(id)].sort((a, b) => a - b);
  if (range && one !== undefined && one >= 0)
    setSelectedIds([...new Set([...now, ...line.slice(one, (two ?? one) + 1)])]);
  else setSelectedIds(now.includes(id) ? now.filter((other) => other !== id) : [...now, id]);
  rangeStart = id;
}

register({
  id: "message.choose",
  label: "command.choose",
  icon: "check",
  scope: "message",
  keys: ["s"],
  inTree: always,
  enabled: ({ node }) => canArrange(node) && moving.value === null,
  run: ({ node }) => node && toggleSelected(node.id, false),
});

/** The states that can be set for all selected messages. `changes` tells which messages would change. */
const STATE_COMMANDS: {
  id: "leaveOut" | "putBack" | "mute" | "unmute";
  icon: string;
  state: Omit<NodeState, "id">;
  changes: (node: ChatNode) => boolean;
}[] = [
  {
    id: "leaveOut",
    icon: "eyeOff",
    state: { isEnabled: false },
    changes: ({ isEnabled }) => isEnabled !== false && isReadByModel(),
  },
  { id: "putBack", icon: "eye", state: { isEnabled: true }, changes: ({ isEnabled }) => isEnabled === false },
  {
    id: "mute",
    icon: "worldOff",
    state: { effects: "muted" },
    changes: ({ id, effects }) => effects !== "muted" && (deltaOf(id)?.operations?.length ?? 0) > 0,
  },
  { id: "unmute", icon: "world", state: { effects: "on" }, changes: ({ effects }) => effects === "muted" },
];

for (const { id, icon, state, changes } of STATE_COMMANDS) {
  register({
    id: `chosen.${id}`,
    label: `chosen.${id}`,
    icon,
    scope: "page",
    enabled: () => selectedNodes().some(changes),
    run: async () => {
      const ids = selectedNodes()
        .filter(changes)
        .map((node) => node.id);
      const result = await attempt(() => api.setStates(sid(), ids, state));
      if (!result) return;
      recordStep(result.op);
      // With the focus on a message, the undo key works.
      store.setFocusNext(ids.at(-1) ?? null);
      setSelectedIds(null);
      if (state.effects) invalidateDeltas();
      await refresh();
      notifyEdit(result, "notice.marked");
    },
  });
}

register({
  id: "chosen.between",
  label: "chosen.between",
  icon: "between",
  scope: "page",
  enabled: () => (selectedIds.value?.length ?? 0) > 1 && selectionRange().length > (selectedIds.value?.length ?? 0),
  run: () => setSelectedIds(selectionRange()),
});

register({
  id: "chosen.summarise",
  label: "chosen.summarise",
  icon: "summarise",
  scope: "page",
  rearranges: true,
  enabled: () => (selectedIds.value?.length ?? 0) > 0 && isReadByModel(),
  run: () => {
    const run = selectionRange();
    const [first, last] = [run[0], run.at(-1)];
    if (first && last) openDialog({ kind: "summarise", first, last });
  },
});

/** Returns the texts of messages, each with the name of its speaker. */
export const textWithSpeakers = (nodes: ChatNode[]) =>
  nodes.map((node) => `${speakerName(node)}: ${shownTextOf(node)}`).join("\n\n");

register({
  id: "chosen.keepLore",
  label: "command.keepLore",
  icon: "lore",
  scope: "page",
  enabled: () => selectedNodes().some(shownTextOf),
  run: () => openDialog({ kind: "saveLoreEntry", passage: { nodeIds: selectedNodes().map(({ id }) => id) } }),
});

register({
  id: "chosen.copy",
  label: "chosen.copy",
  icon: "copy",
  scope: "page",
  enabled: () => (selectedIds.value?.length ?? 0) > 0,
  run: async () => {
    if (!(await copyText(textWithSpeakers(selectedNodes())))) return;
    setSelectedIds(null);
    notify({ tone: "quiet", text: t("notice.copied") });
  },
});

register({
  id: "chosen.none",
  label: "cancel",
  icon: "close",
  scope: "page",
  keys: ["Escape"],
  enabled: () => selectedIds.value !== null && dialog.value === null,
  run: () => setSelectedIds(null),
});

register({
  id: "session.file",
  label: "command.file",
  icon: "down",
  scope: "page",
  enabled: () => store.session.value !== null && (store.viewedLeaf.value ?? store.head.value) !== null,
  run: () => {
    const leaf = store.viewedLeaf.peek() ?? store.head.peek();
    if (leaf) download(api.branchFile(sid(), leaf));
  },
});

register({
  id: "session.spent",
  label: "command.spent",
  icon: "chart",
  scope: "page",
  enabled: () => store.session.value !== null,
  run: () => openDialog({ kind: "usage", sid: sid() }),
});
