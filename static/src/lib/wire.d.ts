/** Types of the HTTP contract and the WebSocket, as far as the page reads them. */
export type Id = string;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** JSON of another program. Whoever reads it states its type, but nothing checks it. */
// biome-ignore lint/suspicious/noExplicitAny: one name for all unchecked JSON, so that no other `any` is needed
export type Unchecked = any;

export interface Siblings {
  index: number;
  count: number;
  ids: Id[];
}

export interface ChatNode {
  id: Id;
  parentId: Id | null;
  childrenIds?: Id[];
  role: "system" | "user" | "assistant";
  kind: "root" | "message" | "greeting" | "change" | "summary" | "merge";
  name: string | null;
  characterId?: Id | null;
  content: string;
  display?: string | null;
  reasoning?: string | null;
  status: "generating" | "complete" | "error";
  isEnabled?: boolean;
  effects?: "on" | "muted";
  /** Whether it was finished while nobody looked. */
  isUnread?: boolean;
  notes?: { plugin: string; text: string; code?: string; args?: Args }[];
  problems?: Problem[];
  timestamp: string;
  depth?: number;
  turn?: number;
  metadata?: NodeMetadata;
  siblings?: Siblings;
}

export interface NodeMetadata {
  model?: string | null;
  phase?: "queued" | "waiting" | "thinking" | "streaming" | "values" | null;
  queuePosition?: number | null;
  isTruncated?: boolean | null;
  finishReason?: string | null;
  error?: { code: string; args?: Args; message: string; hint?: string | null } | string | null;
  rating?: number | null;
  /** The messages that a summary covers. */
  summarizedFrom?: Id[];
  /** The leaf of the branch that a merge took changes from. */
  mergedFrom?: Id;
  /** The typed text, if a plugin replaced it. */
  originalContent?: string;
  /** The version from which an edit made it. */
  editedFrom?: Id | null;
  /** For the answer of a model to a plugin's ask: the ask, and the message at which it was made. */
  answers?: { plugin: string; name: string; nodeId: Id };
  /** The original of a copy, or the position in an imported file. */
  provenance?:
    | { sessionId: Id; nodeId: Id; file?: undefined }
    | { file: string; line?: number | null; sessionId?: undefined };
}

/** The part of the arrangement that belongs to a node: whether its text and its state changes count, and its rating. */
export interface NodeState {
  id?: Id;
  isEnabled?: boolean;
  effects?: "on" | "muted";
  rating?: number | null;
  isUnread?: boolean;
}

export interface QuickReply {
  plugin: string;
  label: string;
  send: string;
}

export interface SlashCommand {
  plugin: string;
  name: string;
  aliases: string[];
  args: string;
  help: string;
}

export interface Projection {
  items: ChatNode[];
  next: string | null;
  leafId: Id;
  op: number;
  quickReplies?: QuickReply[];
  /** Problems while this answer was made. */
  problems?: Problem[];
}

/** The outline of a whole tree, in columns. Parents come before their children. */
export interface Skeleton {
  activeLeafId: Id;
  op: number;
  ids: Id[];
  /** Index of each node's parent; -1 for the root. */
  parents: number[];
  roles: number[];
  kinds: number[];
  statuses: number[];
  flags: number[];
  previews: string[];
  /** The meaning of the numbers. Flags are bits in this order. */
  legend: { roles: string[]; kinds: string[]; statuses: string[]; flags: string[] };
}

export interface Session {
  id: Id;
  title: string;
  characterIds: Id[];
  rootNodeId: Id;
  activeLeafId: Id;
  op: number;
  mode?: "tree" | "linear";
  model?: string | null;
  /** The user's persona; `null` = none. */
  personaId?: Id | null;
  /** The preset of its prompts. */
  presetId?: Id | null;
  /** Whether the regex scripts of card and preset change prompts and display. */
  regexScripts?: { card: boolean; preset: boolean };
  /** Recall of messages that no longer fit into its prompts. */
  recall?: Recall;
  authorsNote?: AuthorsNote | null;
  /** Automatic summaries of messages that no longer fit into its prompts. */
  summaries?: SummarySettings;
  /** The model that writes the changes of values; `null` = the one that writes the replies. */
  valuesModel?: string | null;
  /** Its plugins and their settings. */
  plugins?: PluginChoice[];
  counts?: { nodes: number; branches: number; turns: number };
  /** The start of the newest message; only in lists. */
  preview?: string;
  createdAt: string;
  updatedAt: string;
}

export interface AuthorsNote {
  text: string;
  place: "afterMain" | "beforeMain" | "inChat";
  /** Number of messages after it, for `inChat`. */
  depth: number;
  role: "system" | "user" | "assistant";
  /** Sent with every nth message of the user; 0 = never. */
  every: number;
  lore: boolean;
}

export interface Recall {
  enabled: boolean;
  /** Collections of documents that are searched. */
  collections: string[];
}

export interface SummarySettings {
  enabled: boolean;
  /** Tokens of messages per summary; `null` = the server's setting. */
  every?: number | null;
  /** The model that summarises; `null` = the session's model. */
  model?: string | null;
}

export interface Summaries {
  items: Summary[];
  isWorking: boolean;
  /** Why no summary can be made. */
  problem?: string;
  failure?: Failure;
}

export interface Summary {
  id: Id;
  /** 1 = a summary of messages; more = a chapter of summaries. */
  level: number;
  content: string;
  firstId: Id | null;
  lastId: Id | null;
  nodeIds: Id[];
  isStale: boolean;
  isEdited: boolean;
  /** The plugin that proposed it; `null` = made by the server. */
  plugin: string | null;
}

export interface Collection {
  name: string;
  count: number;
}

export interface Document {
  id: Id;
  collection: string;
  content: string;
  createdAt: string;
}

export interface PluginChoice {
  id: string;
  /** `true` by default. */
  enabled?: boolean;
  config?: { [key: string]: Json };
  /** Granted permissions; by default all that it asks for. */
  grants?: string[];
  /** Permissions that the user refused; unchanged if missing. */
  refused?: string[];
}

export interface Character {
  id: Id;
  name: string;
  description?: string;
  scenario?: string;
  firstMessage?: string;
  creatorNotes?: string;
  tags?: string[];
  isFavourite?: boolean;
  avatar?: string | null;
  /** `rules`: the plugin embedded in the card. */
  metadata?: { clotho?: { plugins?: PluginChoice[]; model?: string | null; rules?: object } };
}

/** A character with all fields. */
export interface FullCharacter extends Character {
  description: string;
  personality: string;
  scenario: string;
  firstMessage: string;
  alternateGreetings: string[];
  exampleMessages: string;
  systemPrompt: string;
  postHistoryInstructions: string;
  creatorNotes: string;
  tags: string[];
}

export type CharacterChanges = Partial<Omit<FullCharacter, "id" | "metadata">>;

/** A persona of the user. */
export interface Persona {
  id: Id;
  name: string;
  description: string;
  avatar: string | null;
}

export interface ImportedCharacter extends FullCharacter {
  report: Report;
}

/** A lorebook without its entries. */
export interface Lorebook {
  id: Id;
  name: string;
  entryCount: number;
  updatedAt: string;
}

/** Where a lorebook applies. */
export interface LorebookHolds {
  everything: boolean;
  sessionIds: Id[];
  personaIds: Id[];
  characterIds: Id[];
}

/** The World Info settings for all lorebooks. */
export interface LoreRules {
  scanDepth: number;
  minActivations: number;
  minActivationsDepth: number;
  budgetPercent: number;
  budgetCap: number;
  includeNames: boolean;
  recursive: boolean;
  maxRecursionSteps: number;
  caseSensitive: boolean;
  matchWholeWords: boolean;
  strategy: "evenly" | "characterFirst" | "globalFirst";
  groupScoring: boolean;
  similar: { entries: number; messages: number; threshold: number; all: boolean };
}

/** The lorebook entries that were activated for a reply, and those that were stopped. */
export interface LoreTold {
  books: { id: Id; name: string; scope: string }[];
  fired: LoreVerdict[];
  stopped: LoreVerdict[];
  silent: number;
  overflowed: boolean;
  /** How entries similar to the chat were found. */
  similar?: { by: string[]; looked: number; found: number; problem?: string; failure?: Failure } | null;
  notes: string[];
}

/** What happened to an entry, and why. */
export interface LoreVerdict {
  book: Id;
  uid: string;
  title: string;
  why: string;
  key?: string;
  tokens?: number;
  problem?: string;
  /** How well it matches. */
  score?: number;
  /** The plugin that activates it or keeps it out. */
  plugin?: string;
}

/** A preset or similar file of another program, without its content. */
export interface Preset {
  id: Id;
  kind: string;
  name: string;
  file: string | null;
  /** Models for which it is used in sessions without a preset of their own. */
  models?: string[];
  /** Why a regex script would never run. */
  problem?: string;
  updatedAt: string;
}

/** A regex script that applies to a session. */
export interface StoryScript {
  scope: "global" | "preset" | "card";
  /** The name of the preset or character that it belongs to. */
  whose: string;
  name: string;
  find: string;
  replace: string;
  isOn: boolean;
  isAllowed: boolean;
  /** Whether it changes prompts. */
  isForPrompts: boolean;
  /** Whether it changes the display. */
  isForDisplay: boolean;
}

/** The scripts that change the display of a session; empty if there are none. */
export interface ScriptsShown {
  items: ShownScript[];
  /** Macro values by speaking character; the first entry is for everyone else. */
  casts: { characterId: Id | null; values: Record<string, string> }[];
  globals: Record<string, Json>;
}

/** A regex script that changes displayed texts, as the server reads it. */
export interface ShownScript {
  scope: "global" | "preset" | "card";
  /** The character whose card contains it. */
  characterId: Id | null;
  name: string;
  find: string;
  replace: string;
  trim: string[];
  placements: number[];
  /** If both are false, it changes the stored text when it arrives. */
  isForDisplay: boolean;
  isForPrompts: boolean;
  isOnEdit: boolean;
  macros: "plain" | "raw" | "escaped";
  minDepth: number | null;
  maxDepth: number | null;
}

export interface WholePreset extends Preset {
  body: Record<string, unknown>;
  /** The resulting values under the keys of the body; only of a preset that makes prompts. */
  effective?: Record<string, Unchecked>;
}

/** One part of a preset that makes prompts. */
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

/** A change of a preset, or its values before the change; `null` for missing ones. */
export interface PresetChange {
  fields?: Record<string, unknown>;
  /** The values under `extensions.clotho`. */
  own?: Record<string, unknown>;
  prompts?: PresetPart[];
  removed?: string[];
  order?: { identifier: string; enabled: boolean }[];
}

/** A World Info entry. Fields that the page does not show are kept. */
export interface LoreEntry {
  uid: number | string;
  comment?: string;
  key?: string[];
  content?: string;
  constant?: boolean;
  disable?: boolean;
  addMemo?: boolean;
  /** Whether it is also activated without a key, when it is similar to the chat. */
  vectorized?: boolean;
}

/** The result of an import. */
export interface Report {
  items: ReportItem[];
}

/** The result of an import from another program. */
export interface Arrived {
  totals: Totals;
  report: Report;
}

/** Numbers of new things. `chats`: chats that were read; `unchanged`: those that were here already. */
export interface Totals {
  characters: number;
  personas: number;
  sessions: number;
  messages: number;
  chats: number;
  unchanged: number;
  /** Other things that were here already. */
  known?: number;
  skipped: number;
  /** Things that a dry run only names, because the server cannot check them without keeping them. */
  unlooked?: number;
}

export interface ReportItem {
  kind: string;
  name: string;
  file: string | null;
  id: Id | null;
  fate: Fate;
  findings: Finding[];
}

export type Fate = "works" | "translated" | "kept" | "skipped";

export interface Finding {
  fate: Fate;
  /** A stable code. */
  code: string;
  line: number | null;
  count: number;
  message: string;
  /** The names of the files in question. */
  names?: string[];
}

export interface NewCharacter {
  name: string;
  description: string;
  firstMessage: string;
}

export interface ModelInfo {
  id: string;
  provider?: string;
  name?: string | null;
  contextLength?: number | null;
  /** Whether it is used by sessions without a model. */
  isDefault?: boolean;
  /** The models behind an alias of the configuration. */
  standsFor?: string[];
  /** How tools are offered to it; `null` if there is no server or several may answer. */
  tools?: "native" | "words" | "none" | null;
  /** Why it cannot be used. */
  unusable?: string | null;
}

export interface Models {
  items: ModelInfo[];
  /** Providers whose models could not be listed. */
  problems: { provider: string; message: string }[];
}

export interface PluginInfo {
  id: string;
  title?: string;
  description?: string;
  isOk?: boolean;
  /** Whether it writes the replies itself. It is then a story of its own, not rules for another one. */
  narrates?: boolean;
  /** The permissions that it asks for, with texts in the user's language. */
  permissions?: { name: string; words: string }[];
}

/** A plugin with all details. */
export interface PluginDetail extends PluginInfo {
  version?: string | null;
  /** `bundled`: it is part of the program. */
  origin?: "bundled" | "folder";
  error?: ScriptError | null;
  warnings?: ScriptError[];
  hooks?: string[];
  manifest?: {
    authors?: string[];
    license?: string;
    requires?: { [id: string]: string };
    state?: { root: string; version: number };
    commands?: { name: string; aliases: string[]; args: string; help: string }[];
    tools?: { name: string; description: string }[];
  } | null;
  config?: ConfigField[];
  schema?: Schema | null;
  codeHash?: string | null;
  /** Paths of its files; none while it cannot be read. */
  files?: string[];
}

/** One setting of a plugin. */
export interface ConfigField {
  name: string;
  type: "integer" | "number" | "boolean" | "text" | "list";
  default: Json;
  label: string;
  help: string;
  min?: number;
  max?: number;
  /** Allowed texts; missing = any. */
  choices?: string[];
}

/** An error in a script, a manifest or a schema, with its position. */
export interface ScriptError {
  message: string;
  file?: string | null;
  line?: number | null;
  column?: number | null;
  hook?: string | null;
  /** The calls that led there, innermost first. */
  stack?: { function: string; file: string; line?: number | null; column?: number | null }[];
  /** Number of operations of the call that were not applied. */
  opsDropped?: number;
}

/** Unsaved texts of files, by path. */
export interface Texts {
  [path: string]: string;
}

export interface PluginFile {
  path: string;
  /** `null` if it is not text. */
  content: string | null;
}

export interface PluginFileKept {
  /** Whether the saved files are in force. If not, the previous version still runs. */
  isInForce: boolean;
  error?: ScriptError | null;
}

export interface PluginChecked {
  isOk: boolean;
  error?: ScriptError | null;
  warnings: ScriptError[];
  hooks: string[];
}

/** What scripts can call. */
export interface PluginReference {
  hooks: { name: string; signature: string; description: string; writes: boolean }[];
  functions: ReferenceFunction[];
  /** Names that belong to the language itself. */
  language: string[];
}

export interface ReferenceFunction {
  name: string;
  isOfCtx: boolean;
  isProperty: boolean;
  signature: string;
  result: string;
  group: string;
  description: string;
}

/** The results of a plugin's tests. */
export interface PluginTested {
  cases: TestedCase[];
  left: number;
  warnings: ScriptError[];
  /** Why the code cannot be loaded. */
  error?: ScriptError | null;
}

export interface TestedCase {
  file: string;
  isPassed: boolean;
  expects: boolean;
  failures: {
    what: string;
    line: number | null;
    expected: string | null;
    found: string | null;
    error?: ScriptError | null;
  }[];
  warnings: string[];
  steps: number | null;
  operations: number | null;
}

export interface PluginTry {
  sessionId: Id;
  nodeId: Id;
  /** A hook, or a tool with its arguments. */
  hook?: string;
  tool?: string;
  arguments?: Record<string, Json>;
  files: Texts;
  text?: string;
}

/** What a tried hook did. Nothing of it is written. */
export interface PluginTried {
  operations: Operation[];
  problems: { operation?: number; path?: string; message: string }[];
  rolls: Roll[];
  notes: string[];
  warnings: string[];
  log: string[];
  world: Change[];
  result: Json;
  /** The asks that it would make. */
  asks?: { name: string }[];
  usage: { operations: number; micros: number; heapPeak: number };
  error?: ScriptError | null;
}

export interface PluginReplay {
  sessionId: Id;
  files: Texts;
  leafId?: Id;
  fromNodeId?: Id;
  /** Whether the results replace the recorded ones. */
  accept?: boolean;
}

export interface PluginReplayed {
  rows: ReplayedRow[];
  /** The step of the session that accepted it. */
  op?: number | null;
  /** Why the code cannot be loaded. */
  error?: ScriptError | null;
}

/** A message at which the rules ran again. `world`: differences between the story's state and the result. */
export interface ReplayedRow {
  nodeId: Id;
  hook: string;
  old: Operation[];
  new: Operation[];
  notes: string[];
  error?: ScriptError | null;
  world: Change[];
}

/** The plugin embedded in a card, compared with the installed one of the same id. */
export interface CardRules {
  id: string | null;
  title: string;
  description: string;
  version: string | null;
  codeHash: string | null;
  state: "none" | "broken" | "new" | "same" | "newer" | "older" | "other" | "bundled";
  installedVersion: string | null;
  installedHash: string | null;
  error?: ScriptError | null;
  warnings: ScriptError[];
  permissions: { name: string; words: string }[];
  asksMore: string[];
  files: CardRulesFile[];
}

export interface CardRulesFile {
  path: string;
  change: "same" | "added" | "changed" | "removed";
  before: string | null;
  after: string | null;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface NewSession {
  characterIds: Id[];
  personaId?: Id;
  title?: string;
  plugins?: PluginChoice[];
  model?: string;
}

export interface Started {
  node?: ChatNode;
  generations?: ChatNode[];
  op?: number;
}

export interface Operation {
  in?: string;
  op: string;
  path: string;
  value?: Json;
  key?: string;
  from?: string;
  why?: string;
  by?: string;
}

export interface Roll {
  plugin: string;
  hook: string;
  spec: string;
  total: number;
  dice: number[];
}

export interface Change {
  path: string;
  before?: Json;
  after?: Json;
}

export interface Delta {
  operations?: Operation[];
  rolls?: Roll[];
  problems?: Problem[];
  rules?: RuleRun[];
  changes?: Change[];
}

/** The arguments of a code. */
export type Args = { [name: string]: Json };

/** A report of the server. Reports stored by older versions have no code. */
export interface Failure {
  code?: string;
  args?: Args;
  message: string;
}

/** A problem that occurred while a node or an answer was made. */
export interface Problem {
  code: string;
  args?: Args;
  message: string;
  plugin?: string;
}

/** One call of a plugin. */
export interface RuleRun {
  plugin: string;
  hook: string;
  /** The reason why a rule without code fired. */
  because?: string;
  ops?: Json;
  warnings?: Json[];
  micros?: number;
  /** For a tool: the arguments from the model, and the result. */
  arguments?: Json;
  answer?: Json;
  refused?: string;
  /** The asks that it makes. */
  asks?: { name: string }[];
  error?: { message: string; file?: string | null; line?: number | null } | null;
}

/** A page of the operation log, oldest first. `next` is set if there is more. */
export interface Log {
  items: { op: number; kind: string }[];
  next: number | null;
}

/** The delta of one message of a branch. */
export interface NodeDelta extends Delta {
  nodeId: Id;
}

/** The part of JSON Schema that the state panel draws. */
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

export interface StateSchema {
  plugin: string;
  root: string;
  schema: Schema;
  title?: string | null;
  /** Paths from `vars` that are hidden now. */
  hidden?: string[];
}

export interface WorldAt {
  world: { vars: { [key: string]: Json }; lore?: Json; summary?: string; events?: Json[] };
  schemas?: StateSchema[];
}

export interface Block {
  slot?: string;
  role?: string;
  tokens?: number;
  source?: string;
  text?: string;
  kept?: boolean;
  why?: string;
}

/** What a regex script did to a prompt. */
export interface ScriptRun {
  name?: string;
  scope: "global" | "preset" | "card";
  /** Number of changed texts. */
  changed: number;
  why?: string;
  message?: string;
}

export interface Trace {
  /** Why no prompt could be made. */
  error?: { message: string; hint?: string };
  blueprint?: Block[];
  messages?: { role: string; name?: string; content: string }[];
  params?: { [key: string]: Json };
  model?: string | null;
  rules?: RuleRun[];
  /** Calls of `plan` before the prompt was made; missing if no plugin has it. */
  plan?: RuleRun[];
  /** The tools that plugins offered, and the calls of the model; missing if none was offered. */
  tools?: { offered: string[]; used: { plugin: string; hook: string }[] };
  /** The request to the values model; missing if the same model writes story and values. */
  values?: {
    model: string;
    text?: string;
    error?: string;
    failure?: Failure;
    tries?: number;
    messages?: { role: string; content: string }[];
  };
  historyCut?: { why: string; through: Id } | null;
  /** Regex scripts that changed something or were left out. */
  scripts?: ScriptRun[];
  /** Missing if no lorebook applies. */
  lore?: LoreTold;
  /** The alias of the configuration under which the model was called. */
  alias?: string;
  /** Models that failed before it. */
  passedOver?: { model: string; code: string; args?: Args; message: string }[];
  cachedTokens?: number | null;
  /** The size of the prompt, and who counted it. */
  tokens?: { count: number; by: string };
  /** What joined the prompt into one text, for a text completion API. */
  template?: { name: string; problem?: string };
  cost?: number | null;
  /** The preset of the prompt, and why it was used: the session's, the one for this model, or the built-in one. */
  preset?: { by?: "session" | "model" | "own"; id?: Id; name?: string; model?: string };
  /** The summaries in the prompt; missing or `null` if the session makes none. */
  summaries?: { texts?: { id: Id }[] } | null;
  /** Cost saved by the provider's cache. */
  saved?: number;
  timings?: { queued?: number; firstToken?: number | null; total?: number | null };
  usage?: { [key: string]: Json } | null;
}

// The arrangement

/** A name on a node. A following label moves with appended nodes. */
export interface Label {
  name: string;
  nodeId: Id;
  following: boolean;
  isInTree: boolean;
}

/** A part of the tree that was moved into the stash. */
export interface Fragment {
  id: Id;
  name: string | null;
  nodeId: Id;
  originId: Id | null;
  canReturn: boolean;
  count: number;
  firstLine: string;
  createdAt: string;
}

/** One edit of the arrangement. The contract says which fields each `op` takes. */
export interface TreeEdit {
  op: "prune" | "graft" | "rename" | "label" | "unlabel" | "summarise" | "merge";
  nodeId?: Id;
  nodeIds?: Id[];
  fragmentId?: Id;
  targetId?: Id;
  mode?: "move" | "copy";
  fromSessionId?: Id;
  fromLeafId?: Id;
  ontoLeafId?: Id;
  content?: string;
  /** The resolution of each conflict, by path: "theirs", "ours", or a value. */
  resolve?: { [path: string]: Json };
  name?: string | null;
  following?: boolean;
}

/** A message with everything below it, or a fragment in the stash. */
export type Piece = { nodeId: Id } | { fragmentId: Id };

/** What a purge would destroy. */
export interface Losses {
  nodes: number;
  /** Branches that end in it. */
  branches: number;
  fragments: number;
  /** Fragments that were cut out of it before; they stay in the stash. */
  keptFragments: number;
}

export interface WorldChange extends Change {
  nodeId: Id;
}

export interface Arranged {
  op: number;
  fragmentIds: Id[];
  /** The tops of copies, the summaries, and the last nodes of merges. */
  nodeIds: Id[];
  /** Branches that leave a summarised run before its end. */
  affected: { leafIds: Id[]; count: number };
  /** Changes of copies from another session that the rules of this one do not allow. */
  refused: { nodeId: Id; path: string; reason: string }[];
  worldChanges: WorldChange[];
}

/** A path that both branches changed. */
export interface Conflict {
  path: string;
  theirs: Operation[];
  ours: Operation[];
}

/** The values of variables along branches. */
export interface Variables {
  items: { leafId: Id; path: string; points: { nodeId: Id; turn: number; depth: number; value: Json }[] }[];
  next: string | null;
}

/** An undone or redone step. */
export interface TurnedBack {
  op: number;
  kind: string;
  leafId: Id;
  worldChanges: WorldChange[];
}

/** A leaf and its branch. */
export interface Branch {
  leafId: Id;
  turns: number;
  preview: string;
  status: ChatNode["status"];
  partingId: Id;
  isTrunk: boolean;
  timestamp: string;
  isUnread?: boolean;
}

export interface DiffSide {
  leafId: Id;
  count: number;
  items: ChatNode[];
  next: Id | null;
}

export interface Difference {
  path: string;
  from?: Json;
  to?: Json;
  operations: { from: Deed[]; to: Deed[]; more: boolean };
}

/** An operation with its node. */
export interface Deed extends Operation {
  nodeId: Id;
}

export interface Diff {
  ancestorId: Id;
  from: DiffSide;
  to: DiffSide;
  world: Difference[];
}

/** A deleted thing that can be restored. */
export interface TrashItem {
  id: Id;
  kind: "session" | "character" | "persona" | "lorebook" | "preset";
  name: string;
  nodes: number | null;
  trashedAt: string;
  until: string;
}

export interface Hit {
  sessionId: Id;
  sessionTitle: string;
  nodeId: Id;
  role: string;
  name: string | null;
  snippet: { text: string; marks: [number, number][] };
  onTrunk?: boolean;
  /** The name of its branch. */
  branch?: string | null;
  /** Whether it is in the stash, and in which fragment. */
  stashed?: boolean;
  fragmentId?: Id | null;
  timestamp?: string;
}

/** What to search for, and where. */
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

/** A note about a search. */
export interface SearchNote {
  code: "no_word" | "cut" | "no_session" | "no_character";
  message: string;
  name: string | null;
}

export interface SearchAnswer {
  items: Hit[];
  total?: { value: number; exact: boolean };
  stale?: boolean;
  /** Progress in percent while the index is rebuilt. */
  rebuilding?: number | null;
  notes?: SearchNote[];
}

export interface Me {
  user: { id: Id; name: string; role?: string };
  mode: string;
  csrf?: string | null;
  mayRearrange?: boolean;
  /** Whether devices can be paired. */
  servesHouse?: boolean;
  /** The paired device that sends the request; `null` on the server's own machine. */
  deviceId?: Id | null;
}

/** A paired device. */
export interface Device {
  id: Id;
  name: string;
  createdAt: string;
  /** Precise to the hour. */
  lastSeenAt: string;
  /** Whether it is the device that sends the request. */
  isThis: boolean;
}

/** A code with which one device can be paired. */
export interface Pairing {
  code: string;
  /** The same code in a short form for typing. */
  shortCode: string;
  /** `modules`: the rows of a QR code, 1 for a dark module. */
  links: { address: string; modules: string[] }[];
  expiresInS: number;
}

/** Whether pictures of other servers are shown for a character; `null` if nobody was asked yet. */
export interface Outside {
  allowed: boolean | null;
}

/** The usage of a session. */
export interface Spent {
  replies: number;
  /** Summaries made in the background. */
  summaries?: number;
  tokenCount: { prompt: number; completion: number };
  /** Prompt tokens that the model servers had cached. */
  cachedTokens: number;
  latencyMs: number;
  cost: number | null;
  /** Cost saved by these caches. */
  saved: number | null;
  withoutCost: number;
  beyondCost: number;
}

/** A long task that a user waits for. */
export interface Job {
  id: Id;
  state: "queued" | "running" | "done" | "failed" | "cancelled" | "interrupted";
  done: number;
  total: number;
  result?: { sessionId: Id | null; report?: Arrived | null } | null;
  error?: { code: string; message: string; hint?: string | null; details?: { line?: number; flaw?: string } } | null;
}

/** A text that a model drafts and that becomes no node. */
export interface Draft {
  id: Id;
  status: "queued" | "waiting" | "thinking" | "streaming" | "done" | "error";
  queuePosition?: number | null;
  content: string;
  error?: { code: string; message: string; hint?: string | null } | null;
}

export interface DraftPiece extends Omit<Draft, "content"> {
  type: "draft.updated";
  contentChunk: string;
  offset: number;
}

/** Frames of the WebSocket. */
export type Frame =
  | { type: "hello"; op: number; leafId: Id }
  | { type: "node.created"; op?: number; node: ChatNode }
  | {
      type: "node.content.updated";
      id: Id;
      contentChunk?: string;
      offset?: number;
      reasoningChunk?: string;
      reasoningOffset?: number;
    }
  | { type: "node.progress"; id: Id; phase: NodeMetadata["phase"]; queuePosition?: number }
  | { type: "node.completed"; op?: number; node: ChatNode }
  | ({ type: "node.state.updated"; op?: number; ids?: Id[]; nodes?: NodeState[] } & NodeState)
  | { type: "head.moved"; op?: number; leafId: Id; contextNodeId?: Id }
  | { type: "tree.changed"; op?: number; operation?: { kind: string; effects?: { purged?: Id; below?: Id[] }[] } }
  | { type: "session.updated"; op?: number; session?: Partial<Session>; title?: string }
  | { type: "plugins.changed"; op?: undefined; ids: string[] }
  | DraftPiece
  | { type: "pong" | "presence"; op?: number }
  | { type: "error"; error: { code: string; message: string; hint?: string } };

/** A model server. Its key is never sent. */
export interface Provider {
  id: string;
  kind: string;
  baseUrl: string;
  hasKey: boolean;
  /** Empty = the server is asked for its models. */
  models: string[];
  /** `config`: it is in config.toml and can only be changed there. */
  origin: "config" | "connected";
  unusable: string | null;
}

export interface Providers {
  items: Provider[];
  kinds: string[];
  defaultModel: string;
  isChosen: boolean;
}

export interface NewProvider {
  id: string;
  kind: string;
  baseUrl: string;
  key: string | null;
  models: string[];
}

export interface ProviderChange {
  kind?: string;
  baseUrl?: string;
  /** `null` removes the key. */
  key?: string | null;
  models?: string[];
}

export interface ProviderTrial {
  id?: string;
  kind: string;
  baseUrl: string;
  key?: string | null;
  model?: string;
}

export interface TrialProblem {
  code: string;
  args?: Args;
  status: number | null;
  message: string;
  hint: string;
}

export interface TrialResult {
  isOk: boolean;
  models: { id: string; contextLength: number | null }[];
  listProblem: TrialProblem | null;
  reply: { text: string; firstTokenMs: number } | null;
  replyProblem: TrialProblem | null;
}
