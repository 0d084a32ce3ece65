// Exports: a whole session, one branch in a format of other programs, or everything for another program.
import { download } from "../lib/download.ts";
import { openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import * as api from "../net/transfers.ts";
import { isCompleteMessage } from "./message-state.ts";
import { register } from "./commands.ts";
import type { Id } from "../lib/wire.d.ts";
import type { ExportFormat } from "../net/transfers.ts";

export const exportSession = (sid: Id, how?: { format?: ExportFormat; leaf?: Id }) =>
  download(api.sessionFile(sid, how));

/**
 * Opens the dialog for the format of an export.
 * @param leaf the end of the branch; null: HEAD
 */
export const openExportDialog = (sid: Id, title: string, leaf: Id | null = null) =>
  openDialog({ kind: "export", sid, title, leaf });

/** Calls a function with the open session. */
function withOpenSession(act: (sid: Id, title: string) => void) {
  const open = store.session.peek();
  if (open) act(open.id, open.title);
}

const isSessionOpen = () => store.session.value !== null;

register({
  id: "session.export",
  label: "command.export",
  icon: "download",
  scope: "page",
  enabled: isSessionOpen,
  run: () => withOpenSession((sid) => exportSession(sid)),
});

register({
  id: "session.exportAs",
  label: "command.exportAs",
  icon: "download",
  scope: "page",
  enabled: isSessionOpen,
  run: () => withOpenSession((sid, title) => openExportDialog(sid, title)),
});

register({
  id: "message.exportAs",
  label: "command.exportHere",
  icon: "download",
  scope: "message",
  enabled: ({ node }) => isCompleteMessage(node),
  run: ({ node }) => node && withOpenSession((sid, title) => openExportDialog(sid, title, node.id)),
});

register({
  id: "page.exportAll",
  label: "command.exportAll",
  icon: "download",
  scope: "page",
  run: () => download(api.everythingFile),
});
