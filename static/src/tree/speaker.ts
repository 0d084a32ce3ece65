// The speaker of a message.
import { t } from "../lib/i18n.ts";
import { characterById } from "../model/library.ts";
import type { ChatNode } from "../lib/wire.d.ts";

/**
 * Returns the speaker's name. The server calls a user without a name "You". The page has its own word for that, and for
 * the narrator.
 */
export function speakerName({ kind, role, name, characterId }: ChatNode) {
  if (kind === "summary" || kind === "merge") return t(`speaker.${kind}`);
  if (role === "user") return name && name !== "You" ? name : t("you");
  return name || (characterById(characterId ?? "")?.name ?? t("narrator"));
}
