// The depth of messages, as regex scripts count it.
import { computed } from "../../vendor/preact.js";
import { nodeOf } from "../model/session-store.ts";
import { shownIds } from "./shown-branch.ts";
import type { Id } from "../lib/wire.d.ts";

/** The counted messages on screen, joined to one string. A string only changes if its content does. */
const counted = computed(() =>
  shownIds.value
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

/** Returns how many counted messages follow a message; `null` if it does not count or is not on screen. */
export const depthOf = (id: Id) => depths.value.get(id) ?? null;
