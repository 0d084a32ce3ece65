// The options of a lore entry besides its name, keys and content: where it is inserted and when it is activated. The
// fields, their values and their defaults are those of World Info files.
import type { LoreEntry, LoreEntryOptions } from "./wire.d.ts";

/** The sources that are scanned besides the messages, if the entry says so. */
export const MATCH_SOURCES = [
  "matchPersonaDescription",
  "matchCharacterDescription",
  "matchCharacterPersonality",
  "matchCharacterDepthPrompt",
  "matchScenario",
  "matchCreatorNotes",
] as const;

/** The kinds of generation that an entry can be limited to. */
export const TRIGGERS = ["normal", "continue", "impersonate", "swipe", "regenerate", "quiet"] as const;

export const POSITION_DEPTH = 4;
export const POSITION_OUTLET = 7;

/** The options of an entry whose file says nothing. `null`: as in the settings of all lorebooks. */
const DEFAULTS: LoreEntryOptions = {
  keysecondary: [],
  selectiveLogic: 0,
  position: 0,
  depth: 4,
  role: 0,
  outletName: "",
  order: 100,
  probability: 100,
  scanDepth: null,
  caseSensitive: null,
  matchWholeWords: null,
  useGroupScoring: null,
  automationId: "",
  when: "",
  excludeRecursion: false,
  preventRecursion: false,
  delayUntilRecursion: 0,
  ignoreBudget: false,
  group: "",
  groupOverride: false,
  groupWeight: 100,
  sticky: null,
  cooldown: null,
  delay: null,
  triggers: [],
  characterFilter: { isExclude: false, names: [], tags: [] },
  matchPersonaDescription: false,
  matchCharacterDescription: false,
  matchCharacterPersonality: false,
  matchCharacterDepthPrompt: false,
  matchScenario: false,
  matchCreatorNotes: false,
};

const FIELDS = Object.keys(DEFAULTS) as (keyof LoreEntryOptions)[];

const strings = (value: unknown) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

/** Returns a number; one that is written as a text counts too. */
function numberIn(value: unknown): number | null {
  const number = typeof value === "string" && value.trim() ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

/** Reads one option. A value of another type counts as missing. */
function readOption(field: keyof LoreEntryOptions, value: unknown): unknown {
  const missing = DEFAULTS[field];
  if (field === "delayUntilRecursion" && value === true) return 1;
  if (field === "characterFilter") {
    const filter = (value && typeof value === "object" ? value : {}) as Record<string, unknown>;
    return { isExclude: filter.isExclude === true, names: strings(filter.names), tags: strings(filter.tags) };
  }
  if (Array.isArray(missing)) return strings(value);
  if (typeof missing === "number") return numberIn(value) ?? missing;
  if (typeof missing === "string") return typeof value === "string" ? value : missing;
  if (typeof missing === "boolean") return value === true;
  return typeof value === "boolean" ? value : numberIn(value);
}

/** Returns all options of an entry. */
export function readOptions(entry: Partial<LoreEntry>): LoreEntryOptions {
  const stored = entry as Record<string, unknown>;
  return Object.fromEntries(
    FIELDS.map((field) => [field, readOption(field, stored[field])]),
  ) as unknown as LoreEntryOptions;
}

/**
 * Returns the fields of an entry that make its options the wanted ones. Options that stay as they are are left out, so
 * that a file keeps what its program wrote.
 */
export function changedOptions(entry: Partial<LoreEntry>, wanted: LoreEntryOptions): Partial<LoreEntry> {
  const was = readOptions(entry);
  const isChanged = (field: keyof LoreEntryOptions) => JSON.stringify(was[field]) !== JSON.stringify(wanted[field]);
  const changed: Partial<LoreEntry> = Object.fromEntries(
    FIELDS.filter(isChanged).map((field) => [field, wanted[field]]),
  );
  // Other programs ignore secondary keys without `selective`, and a probability without `useProbability`.
  if (isChanged("keysecondary") || isChanged("selectiveLogic")) changed.selective = true;
  if (isChanged("probability")) changed.useProbability = true;
  return changed;
}
