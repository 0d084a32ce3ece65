// What is taken along as files: a whole story, one line of it in a form that others read, everything for another program.
import { download } from "../lib/download.js";
import { openDialog } from "../model/page.js";
import * as story from "../model/story.js";
import * as api from "../net/transfers.js";
import { isThere } from "./arrange.js";
import { register } from "./commands.js";

/** @import { Id } from "../lib/wire.d.ts" */
/** @import { StoryForm } from "../net/transfers.js" */

/** @param {Id} sid @param {{format?: StoryForm, leaf?: Id}} [how] */
export const takeAlong = (sid, how) => download(api.storyFile(sid, how));

/** Asks in which form a story goes out. @param {Id} sid @param {string} title @param {Id | null} [leaf] where its line ends; HEAD unless named */
export const askForm = (sid, title, leaf = null) => openDialog({ kind: "takeout", sid, title, leaf });

/** The open story. @param {(sid: Id, title: string) => void} act */
function withStory(act) {
  const open = story.session.peek();
  if (open) act(open.id, open.title);
}

const isOpen = () => story.session.value !== null;

register({ id: "session.export", label: "command.export", icon: "download", scope: "page", enabled: isOpen, run: () => withStory((sid) => takeAlong(sid)) });

register({ id: "session.exportAs", label: "command.exportAs", icon: "download", scope: "page", enabled: isOpen, run: () => withStory((sid, title) => askForm(sid, title)) });

register({
  id: "message.exportAs",
  label: "command.exportHere",
  icon: "download",
  scope: "message",
  enabled: ({ node }) => isThere(node),
  run: ({ node }) => node && withStory((sid, title) => askForm(sid, title, node.id)),
});

register({ id: "page.exportAll", label: "command.exportAll", icon: "download", scope: "page", run: () => download(api.everythingFile) });
