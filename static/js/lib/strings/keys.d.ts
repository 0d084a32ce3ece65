// The names of all words of the page. Types alone, so that the first page need not carry the list.
import type cards from "./en-cards.js";
import type devices from "./en-devices.js";
import type edit from "./en-edit.js";
import type en from "./en.js";
import type findings from "./en-findings.js";
import type history from "./en-history.js";
import type lore from "./en-lore.js";
import type note from "./en-note.js";
import type loreRules from "./en-lore-rules.js";
import type outside from "./en-outside.js";
import type overview from "./en-overview.js";
import type presets from "./en-presets.js";
import type presetEdit from "./en-preset-edit.js";
import type recall from "./en-recall.js";
import type rules from "./en-rules.js";
import type settings from "./en-settings.js";
import type shelf from "./en-shelf.js";
import type spent from "./en-spent.js";
import type story from "./en-story.js";
import type why from "./en-why.js";
import type workshop from "./en-workshop.js";

export type Key = keyof typeof en | keyof typeof story | keyof typeof edit | keyof typeof cards | keyof typeof devices | keyof typeof findings | keyof typeof history | keyof typeof lore | keyof typeof loreRules | keyof typeof note | keyof typeof outside | keyof typeof overview | keyof typeof presets | keyof typeof presetEdit | keyof typeof recall | keyof typeof rules | keyof typeof settings | keyof typeof shelf | keyof typeof spent | keyof typeof why | keyof typeof workshop;
