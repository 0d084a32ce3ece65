/**
 * Types of the HTTP contract and the WebSocket under the names of the page. They are those of `api.d.ts`, which is
 * generated from the OpenAPI document. Written by hand are only parts that the document leaves open.
 */
import type { components } from "./api.d.ts";

type Schemas = components["schemas"];

export type Id = Schemas["Id"];
export type Json = Schemas["Json"];

/** JSON of another program. Whoever reads it states its type, but nothing checks it. */
// biome-ignore lint/suspicious/noExplicitAny: one name for all unchecked JSON, so that no other `any` is needed
export type Unchecked = any;

export interface Page<T> {
  items: T[];
  next: string | null;
}

// Nodes and stories

export type Siblings = Schemas["Siblings"];
export type ChatNode = Schemas["ChatMessageNode"];
export type NodeMetadata = Schemas["NodeMetadata"];
/** The part of the arrangement that belongs to a node, or what changes of it. */
export type NodeState = Partial<Schemas["NodeStateEvent"]>;
export type QuickReply = Schemas["QuickReply"];
export type SlashCommand = Schemas["Command"];
export type Projection = Schemas["Projection"];
export type TreeSkeleton = Schemas["TreeSkeleton"];
export type Session = Schemas["Session"];
export type SessionGroup = Schemas["SessionGroupResponse"];
/** How the list of stories shows a story. */
export type SessionArrangement = Partial<Pick<Session, "folder" | "tags" | "isPinned">>;
export type SessionsChange = Schemas["ChangeSessionsRequest"];
export type ChangedSession = Schemas["ChangedSessionResponse"];
export type RequestedSettings = Partial<Schemas["RequestedSettingsResponse"]>;
export type ConnectionProfile = Schemas["ConnectionProfile"];
export type NewConnectionProfile = Schemas["NewConnectionProfile"];
export type NewSession = Schemas["NewSession"];
export type AuthorsNote = Schemas["AuthorsNoteFields"];
export type Recall = Schemas["RecallSettingsFields"];
export type SummarySettings = Schemas["SummarySettingsFields"];
export type TurnStart = Schemas["Started"];
export type Draft = Schemas["Draft"];
export type UsageTotals = Schemas["UsageTotalsResponse"];

export type Summaries = Schemas["SummariesResponse"];
export type SessionParameters = Schemas["ParametersResponse"];
export type Summary = Schemas["Summary"];
export type Collection = Schemas["DocumentCollectionResponse"];
export type Document = Schemas["DocumentResponse"];

// Characters, lorebooks and presets

/** What Clotho writes into a card. The other fields of the card are of other programs. */
export interface CardMetadata {
  /** `rules`: the plugin embedded in the card. */
  clotho?: { plugins?: PluginChoice[]; model?: string | null; rules?: object };
  /** What other programs keep in the card, such as regex scripts. */
  extensions?: Unchecked;
}

export type Character = Schemas["Character"] & { metadata: CardMetadata };
export type CardVersionHead = Schemas["CardVersionHead"];
export type CardVersion = CardVersionHead & { character: Character };
export type SessionCard = Schemas["SessionCard"];
export type CharacterChanges = Schemas["CharacterFields"];
export type ImportedCharacter = Schemas["CharacterImportResponse"] & { metadata: CardMetadata };
export type Persona = Schemas["PersonaResponse"];
export type PersonaChoices = Schemas["PersonaChoicesResponse"];
export type RemoteImagesPermission = Schemas["RemoteImagesPermission"];

export type Lorebook = Schemas["LorebookResponse"];
export type LorebookBindings = Schemas["LorebookBindingsResponse"];
export type WorldInfoSettings = Schemas["WorldInfoSettingsFields"];
export type LoreTrace = Schemas["LoreTrace"];
export type LoreTestResult = Schemas["LoreTestResponse"];
export type LoreVerdict = Schemas["LoreVerdict"];

/** A World Info entry, as other programs write it; the document takes any object. Fields not named here are kept. */
/** The options of a lore entry besides its name, keys and content. `null`: as in the settings of all lorebooks. */
export interface LoreEntryOptions {
  keysecondary: string[];
  selectiveLogic: number;
  position: number;
  depth: number;
  role: number;
  outletName: string;
  order: number;
  probability: number;
  scanDepth: number | null;
  caseSensitive: boolean | null;
  matchWholeWords: boolean | null;
  useGroupScoring: boolean | null;
  automationId: string;
  /** A condition on variables, such as `affinity >= 20`. */
  when: string;
  excludeRecursion: boolean;
  preventRecursion: boolean;
  delayUntilRecursion: number;
  ignoreBudget: boolean;
  group: string;
  groupOverride: boolean;
  groupWeight: number;
  sticky: number | null;
  cooldown: number | null;
  delay: number | null;
  triggers: string[];
  characterFilter: { isExclude: boolean; names: string[]; tags: string[] };
  matchPersonaDescription: boolean;
  matchCharacterDescription: boolean;
  matchCharacterPersonality: boolean;
  matchCharacterDepthPrompt: boolean;
  matchScenario: boolean;
  matchCreatorNotes: boolean;
}

export interface LoreEntry extends Partial<LoreEntryOptions> {
  uid: number | string;
  comment?: string;
  key?: string[];
  content?: string;
  constant?: boolean;
  disable?: boolean;
  addMemo?: boolean;
  /** Whether it is also activated without a key, when it is similar to the chat. */
  vectorized?: boolean;
  /** Whether its secondary keys count. */
  selective?: boolean;
  /** Whether its probability counts. */
  useProbability?: boolean;
}

export type Preset = Schemas["PresetResponse"];

/** A preset with its content, which is a file of another program. */
export interface PresetContent extends Omit<Preset, "body" | "effective"> {
  body: Record<string, unknown>;
  /** The resulting values under the keys of the body; only of a preset that makes prompts. */
  effective?: Record<string, Unchecked>;
}

/** One part of a preset that makes prompts, as other programs write it. */
export interface PresetPart {
  identifier: string;
  name?: string;
  role?: "system" | "user" | "assistant";
  content?: string;
  marker?: boolean;
  injection_position?: number;
  injection_depth?: number;
  injection_order?: number;
  injection_trigger?: string[];
  forbid_overrides?: boolean;
}

/** A change of a preset, or its values before the change; `null` for missing ones. Its values are of other programs. */
export interface PresetChange {
  fields?: Record<string, unknown>;
  /** The values under `extensions.clotho`. */
  own?: Record<string, unknown>;
  prompts?: PresetPart[];
  removed?: string[];
  order?: Schemas["PresetOrderEntry"][];
}

export type SessionScript = Schemas["SessionScriptResponse"];
export type DisplayScripts = Schemas["DisplayScriptsResponse"];
export type DisplayScript = Schemas["DisplayScriptResponse"];

// Imports

// Reports on files of other programs leave out what is not known; the others say `null`. The page adds items of its own.

export type Finding = Omit<Schemas["ForeignImportFinding"], "line"> & { line?: number | null };

export type ReportItem = Omit<Schemas["ForeignImportItem"], "file" | "id" | "findings"> & {
  file?: string | null;
  id?: string | null;
  findings: Finding[];
};

export interface Report {
  items: ReportItem[];
}

export type ImportFate = Schemas["ImportFate"];
export type Job = Schemas["JobResponse"];

/** The result of an import from another program. */
export interface ForeignImportResult {
  totals: Totals;
  report: Report;
}

export type Totals = Schemas["ImportTotals"] & {
  /** Things that a dry run of the page only names, because the server cannot check them without keeping them. */
  unlooked?: number;
};

// Models

export type ModelInfo = Schemas["ModelResponse"];
export type Models = Pick<Schemas["ModelsResponse"], "items" | "problems">;
export type Provider = Schemas["ProviderResponse"];
export type Providers = Schemas["ProvidersResponse"];
export type ModelService = Schemas["ModelServiceResponse"];
export type NewProvider = Schemas["CreateProviderRequest"];
export type ProviderChange = Schemas["UpdateProviderRequest"];
export type ProviderTestRequest = Schemas["TestNewProviderRequest"];
export type ProviderTestProblem = Schemas["ProviderTestProblem"];
export type ProviderTestResult = Schemas["ProviderTestResponse"];

// Plugins

export type PluginChoice = Schemas["SessionPluginFields"];
export type PluginInfo = Schemas["PluginSummaryResponse"];
export type PluginDetail = Schemas["PluginResponse"];
export type ConfigField = Schemas["PluginConfigField"];
export type ScriptError = Schemas["ScriptError"];
/** Unsaved texts of files, by path. */
export type FileTexts = NonNullable<Schemas["PluginCheck"]["files"]>;
export type PluginFile = Schemas["PluginFileResponse"];
export type PluginFileVersion = Schemas["WritePluginFileResponse"];
export type PluginCheckResult = Schemas["PluginChecked"];
export type PluginReference = Schemas["PluginReference"];
export type ReferenceFunction = Schemas["PluginReferenceFunction"];
export type PluginTestResult = Schemas["PluginTested"];
export type PluginTestCase = Schemas["PluginTestCaseResponse"];
export type HookTrial = Schemas["PluginTry"];
export type HookTrialResult = Schemas["PluginTried"];
export type PluginReplay = Schemas["PluginReplay"];
export type PluginReplayResult = Schemas["PluginReplayed"];
export type PluginReplayRow = Schemas["ReplayPluginRow"];
export type EmbeddedPlugin = Schemas["EmbeddedPluginResponse"];
export type EmbeddedPluginFile = Schemas["CardRulesFile"];

// The state at a node

export type Operation = Schemas["WorldOperation"];
export type Roll = Schemas["DiceRoll"];
export type Change = Schemas["PathChangeResponse"];
export type Delta = Schemas["Delta"];
export type NodeDelta = Schemas["NodeDeltaResponse"];
export type RuleRun = Schemas["HookRun"];
/** The arguments of a code. */
export type Args = Schemas["JsonObject"];
/** A report of the server. Reports stored by older versions have no code. */
export type Failure = Schemas["CodedMessage"];
/** A problem that occurred while a node or an answer was made. */
export type Problem = Schemas["RecordedProblem"];
export type Log = Schemas["OperationsResponse"];
export type NodeWorld = Schemas["WorldResponse"];
export type StateSchema = Schemas["WorldStateSchema"];
export type Variables = Schemas["VariablesResponse"];

/** The part of JSON Schema that the state panel draws. The document takes any object: plugins write it. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: Json[];
  default?: Json;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  readOnly?: boolean;
  /** The formula or cases of a computed value. Nothing else writes it. */
  "x-computed"?: Json;
  properties?: { [key: string]: Schema };
  additionalProperties?: Schema | boolean;
  items?: Schema;
  $ref?: string;
  $defs?: { [key: string]: Schema };
  /** How to draw it: a word, or a map with that word and translated names. */
  "x-ui"?: string | UiHint;
  /** Whether it is shown, or the condition for showing it. */
  "x-visible"?: boolean | string;
}

export interface UiHint {
  as?: string;
  /** For a bar: values up to this number are dangerous. */
  danger?: number;
  /** Title by locale. */
  title?: { [locale: string]: string };
  /** Description by locale. */
  description?: { [locale: string]: string };
  /** Names of values by locale. */
  values?: { [locale: string]: { [value: string]: string } };
}

// Traces

export type Block = Schemas["PromptBlock"];
export type ScriptRun = Schemas["ScriptRun"];
export type Health = Schemas["HealthResponse"];
export type Trace = Schemas["Trace"];

// The arrangement

export type Label = Schemas["Label"];
export type Fragment = Schemas["Fragment"];
/** One edit of the arrangement. The server takes any words and refuses others than these. */
export type TreeEdit = Schemas["TreeEditRequest"] & {
  op: "prune" | "graft" | "rename" | "label" | "unlabel" | "summarise" | "merge" | "purge";
  mode?: "move" | "copy";
};
export type WorldChange = Schemas["NodeWorldChangeResponse"];
export type TreeEditsResult = Schemas["TreeEditsResponse"];
export type UndoResult = Schemas["UndoResponse"];
export type Branch = Schemas["BranchResponse"];
export type DiffSide = Schemas["DiffSide"];
export type Difference = Schemas["WorldDifferenceResponse"];
export type NodeOperation = Schemas["NodeOperation"];
export type Diff = Schemas["DiffResponse"];
export type TrashItem = Schemas["TrashItemResponse"];

/** A message with everything below it, or a fragment in the stash: what the page moves, not what it sends. */
export type MoveSource = { nodeId: Id } | { fragmentId: Id };

/** What a purge would destroy: the details of the error `confirm_needed`. */
export interface PurgeLosses {
  nodes: number;
  /** Branches that end in it. */
  branches: number;
  fragments: number;
  /** Fragments that were cut out of it before; they stay in the stash. */
  keptFragments: number;
}

/** A path that both branches changed: the details of the error `merge_conflict`. */
export interface Conflict {
  path: string;
  theirs: Operation[];
  ours: Operation[];
}

// Search

export type Hit = Schemas["Hit"];
export type SearchNote = Schemas["SearchNoteResponse"];
export type SearchAnswer = Schemas["SearchAnswer"];

/** What to search for, and where: parameters of an address, which the generated types leave out. */
export interface SearchQuery {
  q: string;
  session?: Id;
  where?: "trunk" | "off-trunk" | "stash" | "";
  role?: "user" | "assistant" | "";
  /** Minimum number of stars. */
  rating?: number;
  /** Only messages at or after this time, in ISO 8601. */
  after?: string;
  sort?: "relevance" | "newest" | "oldest";
  /** The user's offset from UTC, such as `+02:00`. It applies to days in the query. */
  zone?: string;
}

// Users and devices

export type Me = Schemas["MeResponse"];
export type Device = Schemas["DeviceResponse"];
export type Pairing = Schemas["PairingResponse"];

// The WebSocket

export type DraftPiece = Extract<Frame, { type: "draft.updated" }>;
export type Frame = Schemas["ServerFrame"];
