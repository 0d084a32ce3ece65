// Replies requested in another way: from another model, or as a continuation.
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/api.ts";
import { register } from "./commands.ts";
import { sid } from "./session-sync.ts";
import { readModelsAndPlugins } from "./library.ts";
import { canRequestReply, isReply, mayReroll, reroll } from "./turn.ts";
import type { Id } from "../lib/wire.d.ts";

/** Returns whether a model writes the replies. A narrator plugin cannot write a reply in another way. */
const isWrittenByModel = () => !store.session.value?.model?.startsWith("plugin:");

register({
  id: "message.goOn",
  label: "command.goOn",
  icon: "onward",
  scope: "message",
  keys: ["o"],
  inTree: ({ node }) => isReply(node) && !mayReroll(node),
  enabled: ({ node }) =>
    canRequestReply(node) && isReply(node) && mayReroll(node) && Boolean(node?.content) && isWrittenByModel(),
  run: ({ node }) => node && reroll(node, () => api.continueReply(sid(), node.id)),
});

register({
  id: "message.otherModel",
  label: "command.otherModel",
  icon: "plug",
  scope: "message",
  enabled: ({ node }) => canRequestReply(node) && isReply(node) && mayReroll(node) && isWrittenByModel(),
  run: ({ node }) => {
    if (!node) return;
    openDialog({ kind: "otherModel", nid: node.id });
    void readModelsAndPlugins();
  },
});

export function rerollWith(nid: Id, model: string) {
  const node = store.peekNode(nid);
  openDialog(null);
  return node && reroll(node, () => api.reroll(sid(), nid, { model }));
}
