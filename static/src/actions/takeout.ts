// What is taken along as files: a whole story, one line of it in a form that others read, everything for another
// program.
import { download } from "../lib/download.ts";
import { openDialog } from "../model/page.ts";
import * as story from "../model/story.ts";
import * as api from "../net/transfers.ts";
import { isThere } from "./arrange.ts";
import { register } from "./commands.ts";
import type { Id } from "../lib/wire.d.ts";
import type { StoryForm } from "../net/transfers.ts";

export const takeAlong = (sid: Id, how?: { format?: StoryForm; leaf?: Id }) => download(api.storyFile(sid, how));

/**
 * Asks in which form a story goes out.
 * @param leaf where its line ends; HEAD unless named
 */
export const askForm = (sid: Id, title: string, leaf: Id | null = null) =>
  openDialog({ kind: "takeout", sid, title, leaf });

/** The open story. */
function withStory(act: (sid: Id, title: string) => void) {
  const open = story.session.peek();
  if (open) act(open.id, open.title);
}

const isOpen = () => story.session.value !== null;

register({
  id: "session.export",
  label: "command.export",
  icon: "download",
  scope: "page",
  enabled: isOpen,
  run: () => withStory((sid) => takeAlong(sid)),
});

register({
  id: "session.exportAs",
  label: "command.exportAs",
  icon: "download",
  scope: "page",
  enabled: isOpen,
  run: () => withStory((sid, title) => askForm(sid, title)),
});

register({
  id: "message.exportAs",
  label: "command.exportHere",
  icon: "download",
  scope: "message",
  enabled: ({ node }) => isThere(node),
  run: ({ node }) => node && withStory((sid, title) => askForm(sid, title, node.id)),
});

register({
  id: "page.exportAll",
  label: "command.exportAll",
  icon: "download",
  scope: "page",
  run: () => download(api.everythingFile),
});
