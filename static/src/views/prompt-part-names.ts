// The names of the parts of a prompt on the page.
import { t, optionalText } from "../lib/i18n.ts";
import { isNamedByUs } from "../lib/preset.ts";
import type { Block, PresetPart } from "../lib/wire.d.ts";

/** Returns the name of a preset's part. */
export const partTitle = (part: PresetPart) =>
  (isNamedByUs(part) ? optionalText(`presetEdit.part.${part.identifier}`) : "") || part.name || part.identifier;

/**
 * Returns the name of a prompt block: a part of the preset, a text without a part, or several joined ones.
 * @param parts the parts of the preset, if it still exists
 */
export const slotName = ({ slot = "" }: Block, parts: PresetPart[] = []) =>
  slot
    .split("+")
    .map((one) => {
      const part = parts.find(({ identifier }) => identifier === one);
      const [, plugin, place] = one.match(/^plugin:([^:]+):(.+)$/) ?? [];
      if (plugin) return `${plugin} · ${optionalText(`why.place.${place}`) || place}`;
      return part ? partTitle(part) : optionalText(`why.slot.${one}`) || optionalText(`presetEdit.part.${one}`) || one;
    })
    .join(" + ");

/** Returns where the text of a block came from. */
export function sourceName({ slot = "", source = "" }: Block) {
  const first = slot.split("+")[0];
  return first === "memories" || first === "summary"
    ? t("why.source.memory")
    : optionalText(`why.source.${source}`) || source;
}
