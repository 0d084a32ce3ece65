// The keys of all texts. Only types, so that the first page does not load the list.
import type cards from "./en-cards.ts";
import type devices from "./en-devices.ts";
import type edit from "./en-edit.ts";
import type en from "./en.ts";
import type findings from "./en-findings.ts";
import type history from "./en-history.ts";
import type lore from "./en-lore.ts";
import type note from "./en-note.ts";
import type loreRules from "./en-lore-rules.ts";
import type outside from "./en-outside.ts";
import type overview from "./en-overview.ts";
import type presets from "./en-presets.ts";
import type presetEdit from "./en-preset-edit.ts";
import type problems from "./en-problems.ts";
import type recall from "./en-recall.ts";
import type rules from "./en-rules.ts";
import type settings from "./en-settings.ts";
import type shelf from "./en-shelf.ts";
import type spent from "./en-spent.ts";
import type story from "./en-story.ts";
import type why from "./en-why.ts";
import type workshop from "./en-workshop.ts";

export type Key =
  | keyof typeof en
  | keyof typeof story
  | keyof typeof edit
  | keyof typeof cards
  | keyof typeof devices
  | keyof typeof findings
  | keyof typeof history
  | keyof typeof lore
  | keyof typeof loreRules
  | keyof typeof note
  | keyof typeof outside
  | keyof typeof overview
  | keyof typeof presets
  | keyof typeof presetEdit
  | keyof typeof problems
  | keyof typeof recall
  | keyof typeof rules
  | keyof typeof settings
  | keyof typeof shelf
  | keyof typeof spent
  | keyof typeof why
  | keyof typeof workshop;
