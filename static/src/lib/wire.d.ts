/** What travels between page and server: the shapes of the HTTP contract, as far as the page reads them. */
export type Id = string;
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** JSON that another program wrote: whoever takes it says what it is, and nobody has looked whether it is so. */
// biome-ignore lint/suspicious/noExplicitAny: one name for all of it, so that no other `any` is needed
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
  /** It was finished where nobody looked. */
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
  /** The messages that a summary stands for. */
  summarizedFrom?: Id[];
  /** The end of the line that a merge brought something over from. */
  mergedFrom?: Id;
  /** What was typed, where a plugin made other words of it. */
  originalContent?: string;
  /** The version that it was made of by an edit. */
  editedFrom?: Id | null;
  /** Of a step that a plugin took when a model had answered it: what it had asked, and at which message. */
  answers?: { plugin: string; name: string; nodeId: Id };
  /** What it is a copy of; or where in a file of another program it stood. */
  provenance?:
    | { sessionId: Id; nodeId: Id; file?: undefined }
    | { file: string; line?: number | null; sessionId?: undefined };
}

/** How a node stands: whether its text and what it does to the world count, and its stars. */
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
  /** What went wrong while this answer was made. */
  problems?: Problem[];
}

/** The outline of a whole tree, in columns; parents come before their children. */
export interface Skeleton {
  activeLeafId: Id;
  op: number;
  ids: Id[];
  /** Where each one's parent stands; -1 for the root. */
  parents: number[];
  roles: number[];
  kinds: number[];
  statuses: number[];
  flags: number[];
  previews: string[];
  /** What the numbers mean; flags are bits in this order. */
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
  /** Whom the reader plays; null: only themselves. */
  personaId?: Id | null;
  /** By which its prompts are made. */
  presetId?: Id | null;
  /** Whose regex scripts change what is sent and shown. */
  regexScripts?: { card: boolean; preset: boolean };
  /** What it recalls of what its prompts do not hold any more. */
  recall?: Recall;
  /** What its author notes to the model. */
  authorsNote?: AuthorsNote | null;
  /** Whether it sums up what its prompts do not hold any more. */
  summaries?: SummarySettings;
  /** The model that keeps its values; null: whoever tells it. */
  valuesModel?: string | null;
  /** Its rules, as they are set. */
  plugins?: PluginChoice[];
  counts?: { nodes: number; branches: number; turns: number };
  /** How the newest message begins; only in the list. */
  preview?: string;
  createdAt: string;
  updatedAt: string;
}

export interface AuthorsNote {
  text: string;
  place: "afterMain" | "beforeMain" | "inChat";
  /** So many messages stand behind it, between the messages. */
  depth: number;
  role: "system" | "user" | "assistant";
  /** With every nth message of the user; 0 is never. */
  every: number;
  lore: boolean;
}

export interface Recall {
  enabled: boolean;
  /** Collections of documents that it looks through. */
  collections: string[];
}

export interface SummarySettings {
  enabled: boolean;
  /** So many tokens of messages become one summary; null as the server has it. */
  every?: number | null;
  /** The model that is asked; null = that of the story. */
  model?: string | null;
}

export interface Summaries {
  items: Summary[];
  isWorking: boolean;
  /** Why nothing comes of it. */
  problem?: string;
  failure?: Failure;
}

export interface Summary {
  id: Id;
  /** 1: of messages; more: a chapter of summaries. */
  level: number;
  content: string;
  firstId: Id | null;
  lastId: Id | null;
  nodeIds: Id[];
  isStale: boolean;
  isEdited: boolean;
  /** The plugin that proposed it; null: the server had it made. */
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
  /** true unless said. */
  enabled?: boolean;
  config?: { [key: string]: Json };
  /** What it may do; what it asks for unless said. */
  grants?: string[];
  /** What was looked at and not allowed; as it was unless said. */
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
  /** `rules`: those that the card carries. */
  metadata?: { clotho?: { plugins?: PluginChoice[]; model?: string | null; rules?: object } };
}

/** All that a character says. */
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

/** Whom a reader plays. */
export interface Persona {
  id: Id;
  name: string;
  description: string;
  avatar: string | null;
}

export interface ImportedCharacter extends FullCharacter {
  report: Report;
}

/** A lorebook; entries are asked for apart. */
export interface Lorebook {
  id: Id;
  name: string;
  entryCount: number;
  updatedAt: string;
}

/** For what a lorebook holds. */
export interface LorebookHolds {
  everything: boolean;
  sessionIds: Id[];
  personaIds: Id[];
  characterIds: Id[];
}

/** How all lorebooks are looked through. */
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

/** What lorebooks called up for a reply, and what was stopped. */
export interface LoreTold {
  books: { id: Id; name: string; scope: string }[];
  fired: LoreVerdict[];
  stopped: LoreVerdict[];
  silent: number;
  overflowed: boolean;
  /** How entries were found that fit what was said. */
  similar?: { by: string[]; looked: number; found: number; problem?: string; failure?: Failure } | null;
  notes: string[];
}

/** What became of an entry, and why. */
export interface LoreVerdict {
  book: Id;
  uid: string;
  title: string;
  why: string;
  key?: string;
  tokens?: number;
  problem?: string;
  /** How well it fits. */
  score?: number;
  /** Which plugin calls it up or keeps it out. */
  plugin?: string;
}

/** What another program keeps for its prompts; all that it says is asked for apart. */
export interface Preset {
  id: Id;
  kind: string;
  name: string;
  file: string | null;
  /** For which models it is used where a story chose none. */
  models?: string[];
  /** Of a regex script, why it would never run. */
  problem?: string;
  updatedAt: string;
}

/** A regex script that has a part in a story. */
export interface StoryScript {
  scope: "global" | "preset" | "card";
  /** The name of the preset or character that it came with. */
  whose: string;
  name: string;
  find: string;
  replace: string;
  isOn: boolean;
  isAllowed: boolean;
  /** It changes what is sent. */
  isForPrompts: boolean;
  /** It changes what is shown. */
  isForDisplay: boolean;
}

/** What shows the messages of a story as its scripts have them; nothing in it where none does. */
export interface ScriptsShown {
  items: ShownScript[];
  /** What macros say where a character speaks; the first is for everybody else. */
  casts: { characterId: Id | null; values: Record<string, string> }[];
  globals: Record<string, Json>;
}

/** A script that changes what is shown, as the server reads it. */
export interface ShownScript {
  scope: "global" | "preset" | "card";
  /** The character whose card it came with. */
  characterId: Id | null;
  name: string;
  find: string;
  replace: string;
  trim: string[];
  placements: number[];
  /** Where neither is: what would be kept of a text when it comes. */
  isForDisplay: boolean;
  isForPrompts: boolean;
  isOnEdit: boolean;
  macros: "plain" | "raw" | "escaped";
  minDepth: number | null;
  maxDepth: number | null;
}

export interface WholePreset extends Preset {
  body: Record<string, unknown>;
  /** All that it comes to, under the names of its body; of one that makes prompts. */
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

/** What is to become of a preset, or what was seen of it: null for what is not there. */
export interface PresetChange {
  fields?: Record<string, unknown>;
  /** What stands under `extensions.clotho`. */
  own?: Record<string, unknown>;
  prompts?: PresetPart[];
  removed?: string[];
  order?: { identifier: string; enabled: boolean }[];
}

/** An entry in the form of world info: it says more than this, and what the page does not show stays. */
export interface LoreEntry {
  uid: number | string;
  comment?: string;
  key?: string[];
  content?: string;
  constant?: boolean;
  disable?: boolean;
  addMemo?: boolean;
  /** It comes without a key too, when it fits what was said. */
  vectorized?: boolean;
}

/** What an import made of what it was given. */
export interface Report {
  items: ReportItem[];
}

/** What came of what another program keeps. */
export interface Arrived {
  totals: Totals;
  report: Report;
}

/** How much of it is new; `chats`: those that were read, `unchanged`: those of them that were here already. */
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
  /** What the page only names after a look: the server cannot look at it without keeping it. */
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
  /** A stable word for it. */
  code: string;
  line: number | null;
  count: number;
  message: string;
  /** What it names one by one: files. */
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
  /** Stories that name no model use it. */
  isDefault?: boolean;
  /** The models that a name of the settings stands for. */
  standsFor?: string[];
  /** How it is told of tools; null where that is not one way. */
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
  /** It writes the replies itself: a story of its own, not rules for another. */
  narrates?: boolean;
  /** What it asks for, in the reader's words. */
  permissions?: { name: string; words: string }[];
}

/** A plugin with everything about it. */
export interface PluginDetail extends PluginInfo {
  version?: string | null;
  /** `bundled`: it is inside the program. */
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
  /** By path; none while it cannot be read. */
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
  /** Of a text: none = any. */
  choices?: string[];
}

/** What is wrong with a script, a manifest or a schema, and where. */
export interface ScriptError {
  message: string;
  file?: string | null;
  line?: number | null;
  column?: number | null;
  hook?: string | null;
  /** The calls that led there, innermost first. */
  stack?: { function: string; file: string; line?: number | null; column?: number | null }[];
  /** So many proposals of the call were not applied. */
  opsDropped?: number;
}

/** Texts of files that are not saved, by path. */
export interface Texts {
  [path: string]: string;
}

export interface PluginFile {
  path: string;
  /** null: it is no text. */
  content: string | null;
}

export interface PluginFileKept {
  /** Whether the plugin as it lies there now is in force; else what was there before goes on. */
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
  /** The names of what comes from the language itself. */
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

/** What the tests of a plugin said. */
export interface PluginTested {
  cases: TestedCase[];
  left: number;
  warnings: ScriptError[];
  /** Why the code does not even load. */
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
  /** A hook, or a tool with what it is called with. */
  hook?: string;
  tool?: string;
  arguments?: Record<string, Json>;
  files: Texts;
  text?: string;
}

/** What a hook did that was tried; nothing of it is written. */
export interface PluginTried {
  operations: Operation[];
  problems: { operation?: number; path?: string; message: string }[];
  rolls: Roll[];
  notes: string[];
  warnings: string[];
  log: string[];
  world: Change[];
  result: Json;
  /** What models would be asked. */
  asks?: { name: string }[];
  usage: { operations: number; micros: number; heapPeak: number };
  error?: ScriptError | null;
}

export interface PluginReplay {
  sessionId: Id;
  files: Texts;
  leafId?: Id;
  fromNodeId?: Id;
  /** The messages are to do what the rules say now. */
  accept?: boolean;
}

export interface PluginReplayed {
  rows: ReplayedRow[];
  /** The step of the session in which it was accepted. */
  op?: number | null;
  /** Why the code does not even load. */
  error?: ScriptError | null;
}

/** One message at which the rules ran again. `world`: where the story's differs from what it would be. */
export interface ReplayedRow {
  nodeId: Id;
  hook: string;
  old: Operation[];
  new: Operation[];
  notes: string[];
  error?: ScriptError | null;
  world: Change[];
}

/** The plugin that a card carries, beside what is installed under its id. */
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

/** A report of the server: what older versions stored has no code. */
export interface Failure {
  code?: string;
  args?: Args;
  message: string;
}

/** Something that went wrong while a node or an answer was made. */
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
  /** What made a rule of the manifest fire. */
  because?: string;
  ops?: Json;
  warnings?: Json[];
  micros?: number;
  /** Of a tool: with what the model called it, and what came of it. */
  arguments?: Json;
  answer?: Json;
  refused?: string;
  /** What it has a model asked. */
  asks?: { name: string }[];
  error?: { message: string; file?: string | null; line?: number | null } | null;
}

/** A part of the log: what was done, oldest first. `next`: there is more. */
export interface Log {
  items: { op: number; kind: string }[];
  next: number | null;
}

/** What one message of a line did. */
export interface NodeDelta extends Delta {
  nodeId: Id;
}

/** The part of JSON Schema that the world panel draws. */
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
  /** What it follows from: nobody writes it. */
  "x-computed"?: Json;
  properties?: { [key: string]: Schema };
  additionalProperties?: Schema | boolean;
  items?: Schema;
  $ref?: string;
  $defs?: { [key: string]: Schema };
  /** How to draw it: a word, or a map with that word and names in other languages. */
  "x-ui"?: string | UiHint;
  /** Whether it is shown, or the condition from which on it is. */
  "x-visible"?: boolean | string;
}

export interface UiHint {
  as?: string;
  /** Of a bar: this number or less is danger. */
  danger?: number;
  /** Locale to title. */
  title?: { [locale: string]: string };
  /** Locale to description. */
  description?: { [locale: string]: string };
  /** Locale to names of values. */
  values?: { [locale: string]: { [value: string]: string } };
}

export interface StateSchema {
  plugin: string;
  root: string;
  schema: Schema;
  title?: string | null;
  /** Paths from `vars` that are not to be shown now. */
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
  /** So many texts. */
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
  /** What plugins planned before the prompt was made; missing where none plans. */
  plan?: RuleRun[];
  /** The tools that plugins offered, and those that the model called; missing where none was offered. */
  tools?: { offered: string[]; used: { plugin: string; hook: string }[] };
  /** How another model was asked to keep the values; missing where the same one does. */
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
  /** Missing where no lorebook holds. */
  lore?: LoreTold;
  /** The name of the settings under which the model was asked. */
  alias?: string;
  /** Models that could not answer before it. */
  passedOver?: { model: string; code: string; args?: Args; message: string }[];
  cachedTokens?: number | null;
  /** How large the prompt is, and who says so. */
  tokens?: { count: number; by: string };
  /** What made one text of the prompt, where the server completes a text. */
  template?: { name: string; problem?: string };
  cost?: number | null;
  /**
   * The preset that made it, and why it was that one: the story chose it, or it is for this model, or it is our own.
   */
  preset?: { by?: "session" | "model" | "own"; id?: Id; name?: string; model?: string };
  /** The summaries that it told; missing or null where the story does not sum itself up. */
  summaries?: { texts?: { id: Id }[] } | null;
  /** What the provider's memory saved of the cost. */
  saved?: number;
  timings?: { queued?: number; firstToken?: number | null; total?: number | null };
  usage?: { [key: string]: Json } | null;
}

// The arrangement

/** A name on a node. A following one moves with what is written there. */
export interface Label {
  name: string;
  nodeId: Id;
  following: boolean;
  isInTree: boolean;
}

/** A part of the tree that was taken out and lies in the stash. */
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

/** One edit of the arrangement; which fields it takes stands in the contract. */
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
  /** What becomes of each conflict, by path: "theirs", "ours", or a value. */
  resolve?: { [path: string]: Json };
  name?: string | null;
  following?: boolean;
}

/** A message with all below it, or what lies in the stash. */
export type Piece = { nodeId: Id } | { fragmentId: Id };

/** What would be destroyed with a piece. */
export interface Losses {
  nodes: number;
  /** Lines that end in it. */
  branches: number;
  fragments: number;
  /** What was cut out of it before, which stays in the stash. */
  keptFragments: number;
}

export interface WorldChange extends Change {
  nodeId: Id;
}

export interface Arranged {
  op: number;
  fragmentIds: Id[];
  /** The tops of copies, the summaries and the ends of merges. */
  nodeIds: Id[];
  /** The lines that leave a summarised run before its end. */
  affected: { leafIds: Id[]; count: number };
  /** What copies from another story would do and the rules of this one leave out. */
  refused: { nodeId: Id; path: string; reason: string }[];
  worldChanges: WorldChange[];
}

/** A place to which two lines did something, each its own. */
export interface Conflict {
  path: string;
  theirs: Operation[];
  ours: Operation[];
}

/** How values went along lines. */
export interface Variables {
  items: { leafId: Id; path: string; points: { nodeId: Id; turn: number; depth: number; value: Json }[] }[];
  next: string | null;
}

/** What was taken back or brought back. */
export interface TurnedBack {
  op: number;
  kind: string;
  leafId: Id;
  worldChanges: WorldChange[];
}

/** A node below which there is nothing, and the line to it. */
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

/** An operation, and the node that did it. */
export interface Deed extends Operation {
  nodeId: Id;
}

export interface Diff {
  ancestorId: Id;
  from: DiffSide;
  to: DiffSide;
  world: Difference[];
}

/** Something that was deleted and can be brought back. */
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
  /** The name of the branch on which it lies. */
  branch?: string | null;
  /** It lies in the stash, in this fragment. */
  stashed?: boolean;
  fragmentId?: Id | null;
  timestamp?: string;
}

/** What to look for, and where. */
export interface SearchQuery {
  q: string;
  session?: Id;
  where?: "trunk" | "off-trunk" | "stash" | "";
  role?: "user" | "assistant" | "";
  /** So many stars at least. */
  rating?: number;
  /** Only at or after this time, in ISO 8601. */
  after?: string;
  sort?: "relevance" | "newest" | "oldest";
  /** How far the reader's clock is ahead of UTC, such as `+02:00`: days in the words are theirs. */
  zone?: string;
}

/** What is worth knowing about a search. */
export interface SearchNote {
  code: "no_word" | "cut" | "no_session" | "no_character";
  message: string;
  name: string | null;
}

export interface SearchAnswer {
  items: Hit[];
  total?: { value: number; exact: boolean };
  stale?: boolean;
  /** In percent, while the index is made anew. */
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
  /** The paired device that asks; null at the machine. */
  deviceId?: Id | null;
}

/** A paired device of the house. */
export interface Device {
  id: Id;
  name: string;
  createdAt: string;
  /** To the hour. */
  lastSeenAt: string;
  /** Whether it is the one that asks. */
  isThis: boolean;
}

/** A code by which one device may be paired. */
export interface Pairing {
  code: string;
  /** The same to type. */
  shortCode: string;
  /** `modules`: the rows of a QR code, 1 for a dark square. */
  links: { address: string; modules: string[] }[];
  expiresInS: number;
}

/** Whether pictures of other servers are shown for a character; null: nobody was asked. */
export interface Outside {
  allowed: boolean | null;
}

/** What the replies of a story took. */
export interface Spent {
  replies: number;
  /** Summaries made in the background. */
  summaries?: number;
  tokenCount: { prompt: number; completion: number };
  /** Of those read, what the model servers had read before. */
  cachedTokens: number;
  latencyMs: number;
  cost: number | null;
  /** What their memory saved. */
  saved: number | null;
  withoutCost: number;
  beyondCost: number;
}

/** Long work that somebody waits for. */
export interface Job {
  id: Id;
  state: "queued" | "running" | "done" | "failed" | "cancelled" | "interrupted";
  done: number;
  total: number;
  result?: { sessionId: Id | null; report?: Arrived | null } | null;
  error?: { code: string; message: string; hint?: string | null; details?: { line?: number; flaw?: string } } | null;
}

/** A text that is drafted and is no node. */
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

/** A model server. Its key is never told. */
export interface Provider {
  id: string;
  kind: string;
  baseUrl: string;
  hasKey: boolean;
  /** Empty: it is asked. */
  models: string[];
  /** `config`: stands in config.toml, and is changed there. */
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
  /** null: is taken away. */
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
