// The keys of all texts. Only types, so that the first page does not load the list.
import type cardVersions from "./en-card-versions.ts";
import type cards from "./en-cards.ts";
import type devices from "./en-devices.ts";
import type edit from "./en-edit.ts";
import type en from "./en.ts";
import type findings from "./en-findings.ts";
import type generation from "./en-generation.ts";
import type history from "./en-history.ts";
import type lore from "./en-lore.ts";
import type note from "./en-note.ts";
import type loreOptions from "./en-lore-options.ts";
import type loreSettings from "./en-lore-settings.ts";
import type remoteImages from "./en-remote-images.ts";
import type overview from "./en-overview.ts";
import type presets from "./en-presets.ts";
import type presetEdit from "./en-preset-edit.ts";
import type problems from "./en-problems.ts";
import type recall from "./en-recall.ts";
import type requestedSettings from "./en-requested-settings.ts";
import type profiles from "./en-profiles.ts";
import type plugins from "./en-plugins.ts";
import type scriptErrors from "./en-script-errors.ts";
import type settings from "./en-settings.ts";
import type characterList from "./en-character-list.ts";
import type sessionList from "./en-session-list.ts";
import type usage from "./en-usage.ts";
import type story from "./en-story.ts";
import type trace from "./en-trace.ts";
import type workshop from "./en-workshop.ts";

export type Key =
  | keyof typeof en
  | keyof typeof story
  | keyof typeof edit
  | keyof typeof cards
  | keyof typeof cardVersions
  | keyof typeof devices
  | keyof typeof findings
  | keyof typeof history
  | keyof typeof generation
  | keyof typeof lore
  | keyof typeof loreOptions
  | keyof typeof loreSettings
  | keyof typeof note
  | keyof typeof remoteImages
  | keyof typeof overview
  | keyof typeof presets
  | keyof typeof presetEdit
  | keyof typeof problems
  | keyof typeof recall
  | keyof typeof requestedSettings
  | keyof typeof profiles
  | keyof typeof plugins
  | keyof typeof scriptErrors
  | keyof typeof settings
  | keyof typeof characterList
  | keyof typeof sessionList
  | keyof typeof usage
  | keyof typeof trace
  | keyof typeof workshop;
