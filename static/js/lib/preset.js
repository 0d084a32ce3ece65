// A preset as it is edited: its prompts in their order, and changes of it with what was seen before and the way back.

/** @import { PresetChange, PresetPart, WholePreset } from "./wire.d.ts" */

/** Parts whose text comes from elsewhere and that have no place but in the order. */
const FIXED = new Set(["chatHistory", "dialogueExamples"]);
/** Parts that every preset has: moved and switched, never deleted. */
const KNOWN = new Set(["main", "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario", "enhanceDefinitions", "nsfw", "worldInfoAfter", "dialogueExamples", "chatHistory", "jailbreak"]);
/** Parts that cards may put their own text in place of. */
export const REPLACED = new Set(["main", "jailbreak"]);
/** What our own parts are called in a file, which the page says in the reader's language. */
const OWN_NAMES = new Set(["Main", "What else is known of the character", "Further instructions", "Last word"]);

/** @param {PresetPart} part */
export const isKnown = ({ identifier }) => KNOWN.has(identifier);
/** @param {PresetPart} part */
export const hasPlace = ({ identifier }) => !FIXED.has(identifier);
/** Whether the page has a better name for it than the file. @param {PresetPart} part */
export const isNamedByUs = ({ identifier, marker, name }) => KNOWN.has(identifier) && (marker === true || !name || OWN_NAMES.has(name));

/** All parts as they hold. @param {WholePreset} preset @returns {PresetPart[]} */
export const partsOf = ({ effective }) => effective?.["prompts"] ?? [];

/** The order that holds. @param {WholePreset} preset @returns {{identifier: string, enabled: boolean}[]} */
export const orderOf = ({ effective }) => effective?.["prompt_order"]?.[0]?.order ?? [];

/** What the file says of a part. @param {WholePreset} preset @param {string} identifier @returns {any} */
const rawOf = ({ body }, identifier) => (Array.isArray(body["prompts"]) ? body["prompts"].find((part) => part?.identifier === identifier) : undefined);

/** @param {WholePreset} preset @returns {Record<string, any>} */
export const ownOf = ({ effective }) => effective?.["extensions"]?.clotho ?? {};

/** Nothing, as it goes over the wire. @param {unknown} value */
const orNull = (value) => value ?? null;

/** What a thing says under the names of another. @param {object} of @param {any} from */
const same = (of, from) => Object.fromEntries(Object.keys(of).map((key) => [key, orNull(from[key])]));

/** What stands there before a change. @param {WholePreset} preset @param {PresetChange} change @returns {PresetChange} */
export function seenBefore(preset, change) {
  const { body } = preset;
  const own = /** @type {any} */ (body["extensions"])?.clotho ?? {};
  const known = (change.prompts ?? []).filter(({ identifier }) => rawOf(preset, identifier));
  const gone = (change.removed ?? []).map((identifier) => rawOf(preset, identifier)).filter(Boolean);
  return {
    ...(change.fields && { fields: same(change.fields, body) }),
    ...(change.own && { own: same(change.own, own) }),
    prompts: [...known.map((part) => /** @type {any} */ (same(part, rawOf(preset, part.identifier)))), ...gone.map(({ identifier, name, role, content }) => ({ identifier, name: orNull(name), role: orNull(role), content: orNull(content) }))],
    ...(change.order && { order: orderOf(preset) }),
  };
}

/** The change that takes a change back. @param {WholePreset} preset as it was before @param {PresetChange} change @returns {PresetChange} */
export function wayBack(preset, change) {
  const prompts = change.prompts ?? [];
  const removed = change.removed ?? [];
  const isKnownHere = (/** @type {{identifier: string}} */ { identifier }) => rawOf(preset, identifier) !== undefined;
  const seen = seenBefore(preset, { ...change, removed: [] });
  const fresh = prompts.filter((part) => !isKnownHere(part)).map(({ identifier }) => identifier);
  const turnsOrder = change.order || removed.length > 0 || fresh.length > 0;
  return {
    ...(seen.fields && { fields: seen.fields }),
    ...(seen.own && { own: seen.own }),
    prompts: [...(seen.prompts ?? []), ...removed.map((identifier) => rawOf(preset, identifier)).filter(Boolean)],
    // A part that every preset has was given words of its own: it keeps its place and says again what it said.
    removed: fresh.filter((identifier) => !KNOWN.has(identifier)),
    ...(turnsOrder && { order: orderOf(preset) }),
  };
}

/** An identifier that no part has. @param {WholePreset} preset */
export function freshIdentifier(preset) {
  const taken = new Set(partsOf(preset).map(({ identifier }) => identifier));
  let name = "";
  do name = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  while (taken.has(name));
  return name;
}

/** A list with one of it at another place. @template T @param {T[]} list @param {number} from @param {number} to */
export function moved(list, from, to) {
  const others = list.filter((_, at) => at !== from);
  return [...others.slice(0, to), .../** @type {T[]} */ (list.slice(from, from + 1)), ...others.slice(to)];
}
