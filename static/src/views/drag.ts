// Moving by hand: what is taken by its handle is let go on the message it is put below, or on a button. Whatever can be
// done so can be done by menus and keys too.
import { canArrange } from "../actions/arrange.ts";
import { canRun, run } from "../actions/commands.ts";
import { leaveThere, place, takeUp } from "../actions/move.ts";
import { textOf } from "../actions/turn.ts";
import { mayRearrange } from "../model/page.ts";
import type { ChatNode, Id } from "../lib/wire.d.ts";

/**
 * @param text what other programs and fields get
 * @param begin what was taken up is shown only after the browser has made its picture of it
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

/** The handle of a message, where it can be moved. */
export const handleOf = (node: ChatNode) =>
  mayRearrange.value && canArrange(node)
    ? { ...draggable(textOf(node), () => takeUp(node, false)), onDragEnd: leaveThere }
    : {};

/** A fragment in the stash: the stash closes, and shows the story to choose a place in. */
export const handleOfFragment = (fragmentId: Id, name: string) => draggable(name, () => place(fragmentId, name, false));

/** Something that runs a command when what is being moved is let go on it. */
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
