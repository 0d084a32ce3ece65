// Whose words a message has.
import { t } from "../lib/i18n.ts";
import { characterById } from "../model/library.ts";
import type { ChatNode } from "../lib/wire.d.ts";

/** The server calls a reader without a name "You"; the page has its own word for that, and for what nobody said. */
export function nameOf({ kind, role, name, characterId }: ChatNode) {
  if (kind === "summary" || kind === "merge") return t(`speaker.${kind}`);
  if (role === "user") return name && name !== "You" ? name : t("you");
  return name || (characterById(characterId ?? "")?.name ?? t("narrator"));
}
