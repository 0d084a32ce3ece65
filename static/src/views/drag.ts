// Drag and drop: an item is dropped on the message that becomes its parent, or on a button. Menus and keys can do the
// same.
import { canArrange } from "../actions/message-state.ts";
import { canRun, run } from "../actions/commands.ts";
import { cancelMove, startMovingFragment, startMovingMessage } from "../actions/move.ts";
import { shownTextOf } from "../actions/turn.ts";
import { mayRearrange } from "../model/page.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/**
 * Returns the attributes of an element that can be dragged.
 * @param text the text that other programs and fields get
 * @param begin called after the browser has made its drag image, so that changes on the page are not in it
 */
const draggable = (text: string, begin: () => void) => ({
  draggable: true,
  onDragStart: (event: DragEvent) => {
    if (!event.dataTransfer) return;
    event.dataTransfer.effectAllowed = "copyMove";
    event.dataTransfer.setData("text/plain", text);
    setTimeout(begin);
  },
});

/** Returns the attributes of the drag handle of a message; none if it cannot be moved. */
export const handleOf = (node: ChatNode) =>
  mayRearrange.value && canArrange(node)
    ? { ...draggable(shownTextOf(node), () => startMovingMessage(node, false)), onDragEnd: cancelMove }
    : {};

/** Returns the attributes of a fragment in the stash. Dragging closes the stash, so that the messages are visible. */
export const handleOfFragment = (fragmentId: Id, name: string) =>
  draggable(name, () => startMovingFragment(fragmentId, name, false));

/** Returns the attributes of a drop target that runs a command. */
export const dropOn = (id: string, node: ChatNode | null = null) => ({
  onDragOver: (event: DragEvent) => {
    if (!canRun(id, node)) return;
    event.preventDefault();
    mark(event, true);
  },
  onDragLeave: (event: DragEvent) => mark(event, false),
  onDrop: (event: DragEvent) => {
    mark(event, false);
    if (!canRun(id, node)) return;
    event.preventDefault();
    run(id, node);
  },
});

const mark = ({ currentTarget }: DragEvent, is: boolean) =>
  currentTarget instanceof HTMLElement && currentTarget.classList.toggle("drop-here", is);
