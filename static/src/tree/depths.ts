// How far from the end a message stands, as scripts of cards count.
import { computed } from "../../vendor/preact.js";
import { nodeOf } from "../model/story.ts";
import { shown } from "./line.ts";
import type { Id } from "../lib/wire.d.ts";

/** The messages on screen that count, as one text: it is the same one as long as they are. */
const counted = computed(() =>
  shown.value
    .filter((id) => {
      const node = nodeOf(id);
      return node !== null && node.isEnabled !== false && node.status !== "error";
    })
    .join(" "),
);

const depths = computed(
  () =>
    new Map(
      counted.value
        .split(" ")
        .reverse()
        .map((id, depth) => [id, depth]),
    ),
);

/** How many messages that count stand behind one; null: it does not count, or is not on screen. */
export const depthOf = (id: Id) => depths.value.get(id) ?? null;
