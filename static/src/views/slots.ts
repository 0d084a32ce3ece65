// What the texts of a prompt are called on the page.
import { t, wordFor } from "../lib/i18n.ts";
import { isNamedByUs } from "../lib/preset.ts";
import type { Block, PresetPart } from "../lib/wire.d.ts";

/** What a part of a preset is called. */
export const titleOf = (part: PresetPart) =>
  (isNamedByUs(part) ? wordFor(`presetEdit.part.${part.identifier}`) : "") || part.name || part.identifier;

/**
 * What a block of a prompt was made of: a part of the preset, what has no part, or several that became one.
 * @param parts those of the preset, where it is still there
 */
export const slotName = ({ slot = "" }: Block, parts: PresetPart[] = []) =>
  slot
    .split("+")
    .map((one) => {
      const part = parts.find(({ identifier }) => identifier === one);
      const [, plugin, place] = one.match(/^plugin:([^:]+):(.+)$/) ?? [];
      if (plugin) return `${plugin} · ${wordFor(`why.place.${place}`) || place}`;
      return part ? titleOf(part) : wordFor(`why.slot.${one}`) || wordFor(`presetEdit.part.${one}`) || one;
    })
    .join(" + ");

/** Where the text of a block came from. */
export function sourceName({ slot = "", source = "" }: Block) {
  const first = slot.split("+")[0];
  return first === "memories" || first === "summary"
    ? t("why.source.memory")
    : wordFor(`why.source.${source}`) || source;
}
