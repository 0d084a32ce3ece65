// Opening and closing the view of the whole tree. The view itself is loaded on first use.
import { isFocusLost } from "../lib/focus.ts";
import { selectedIds } from "../model/arrangement.ts";
import { inTree, openDialog } from "../model/page.ts";
import * as store from "../model/session-store.ts";
import { isLinear } from "../tree/shown-branch.ts";
import { register } from "./commands.ts";
import { sid } from "./session-sync.ts";
import { navigate } from "./navigation.ts";

/** The element that had focus before the tree opened. */
let focusedBefore: Element | null = null;

/** Opens the tree. The chat stays below it, with its draft and scroll position. */
function openTree() {
  focusedBefore = document.activeElement;
  openDialog(null);
  navigate(`/s/${sid()}/tree`);
  history.replaceState({ isBelow: true }, "");
}

/** Closes the tree and shows what was there before. */
export function closeTree() {
  if (history.state?.isBelow) history.back();
  else navigate(`/s/${sid()}`, true);
}

/** Returns focus to its former element, or else to the text field, unless something has focus already. */
export function restoreFocus() {
  if (!isFocusLost()) return;
  if (focusedBefore instanceof HTMLElement && focusedBefore.isConnected) focusedBefore.focus();
  if (isFocusLost()) store.requestFieldFocus();
}

register({
  id: "page.tree",
  label: "command.overview",
  icon: "tree",
  scope: "page",
  keys: ["mod+b", "t"],
  enabled: () => store.session.value !== null && !isLinear.value && selectedIds.value === null,
  run: () => (inTree.peek() ? closeTree() : openTree()),
});
