// A preset in the editor: its prompts in order, and its changes with their previous values and their undo.
import type { PresetChange, PresetPart, Unchecked, PresetContent } from "./wire.d.ts";

/** Parts whose text comes from elsewhere and whose place is only their position in the order. */
const FIXED = new Set(["chatHistory", "dialogueExamples"]);
/** Parts that every preset has. They can be moved and turned off, but not deleted. */
const KNOWN = new Set([
  "main",
  "worldInfoBefore",
  "personaDescription",
  "charDescription",
  "charPersonality",
  "scenario",
  "enhanceDefinitions",
  "nsfw",
  "worldInfoAfter",
  "dialogueExamples",
  "chatHistory",
  "jailbreak",
]);
/** Parts whose text a card can replace. */
export const REPLACED = new Set(["main", "jailbreak"]);
/** The names of our own parts and of SillyTavern's in files. The page shows its translated names instead. */
const OWN_NAMES = new Set([
  ...["Main", "What else is known of the character", "Further instructions", "Last word"],
  ...["Main Prompt", "Enhance Definitions", "Auxiliary Prompt", "Post-History Instructions"],
]);

export const isKnown = ({ identifier }: PresetPart) => KNOWN.has(identifier);
export const hasPlace = ({ identifier }: PresetPart) => !FIXED.has(identifier);
/** Whether the page has a better name for the part than the file. */
export const isNamedByUs = ({ identifier, marker, name }: PresetPart) =>
  KNOWN.has(identifier) && (marker === true || !name || OWN_NAMES.has(name));

/** Returns all parts of the effective preset. */
export const partsOf = ({ effective }: Pick<PresetContent, "effective">): PresetPart[] => effective?.prompts ?? [];

/** Returns the effective order. */
export const orderOf = ({ effective }: PresetContent): { identifier: string; enabled: boolean }[] =>
  effective?.prompt_order?.[0]?.order ?? [];

/** Returns a part as it is in the file. */
const rawOf = ({ body }: PresetContent, identifier: string): Unchecked =>
  Array.isArray(body.prompts) ? body.prompts.find((part) => part?.identifier === identifier) : undefined;

export const ownOf = ({ effective }: PresetContent): Record<string, Unchecked> => effective?.extensions?.clotho ?? {};

/** Turns `undefined` into `null` for JSON. */
const orNull = (value: unknown) => value ?? null;

/** Returns the values of `from` under the keys of another object. */
const same = (of: object, from: Unchecked): Unchecked =>
  Object.fromEntries(Object.keys(of).map((key) => [key, orNull(from[key])]));

/** Returns the values before a change. */
export function expectedValues(preset: PresetContent, change: PresetChange): PresetChange {
  const { body } = preset;
  const own = (body.extensions as { clotho?: object } | undefined)?.clotho ?? {};
  const known = (change.prompts ?? []).filter(({ identifier }) => rawOf(preset, identifier));
  const removed = (change.removed ?? []).map((identifier) => rawOf(preset, identifier)).filter(Boolean);
  return {
    ...(change.fields && { fields: same(change.fields, body) }),
    ...(change.own && { own: same(change.own, own) }),
    prompts: [
      ...known.map((part) => same(part, rawOf(preset, part.identifier))),
      ...removed.map(({ identifier, name, role, content }) => ({
        identifier,
        name: orNull(name),
        role: orNull(role),
        content: orNull(content),
      })),
    ],
    ...(change.order && { order: orderOf(preset) }),
  };
}

/**
 * Returns the change that undoes a change.
 * @param preset as it was before
 */
export function inverseChange(preset: PresetContent, change: PresetChange): PresetChange {
  const prompts = change.prompts ?? [];
  const removed = change.removed ?? [];
  const isKnownHere = ({ identifier }: { identifier: string }) => rawOf(preset, identifier) !== undefined;
  const seen = expectedValues(preset, { ...change, removed: [] });
  const fresh = prompts.filter((part) => !isKnownHere(part)).map(({ identifier }) => identifier);
  const turnsOrder = change.order || removed.length > 0 || fresh.length > 0;
  return {
    ...(seen.fields && { fields: seen.fields }),
    ...(seen.own && { own: seen.own }),
    prompts: [...(seen.prompts ?? []), ...removed.map((identifier) => rawOf(preset, identifier)).filter(Boolean)],
    // A built-in part that got its own text stays in place and gets its old text back.
    removed: fresh.filter((identifier) => !KNOWN.has(identifier)),
    ...(turnsOrder && { order: orderOf(preset) }),
  };
}

/** Returns an identifier that no part has. */
export function newIdentifier(preset: PresetContent) {
  const taken = new Set(partsOf(preset).map(({ identifier }) => identifier));
  let name = "";
  do
    name = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  while (taken.has(name));
  return name;
}

/** Returns a copy of the list with one item moved. */
export function moveItem<T>(list: T[], from: number, to: number) {
  const others = list.filter((_, at) => at !== from);
  return [...others.slice(0, to), ...(list.slice(from, from + 1) as T[]), ...others.slice(to)];
}
