// The data of each dialog. Only types, so that the first page does not load the list.
import type { Device, Id, Report } from "../lib/wire.d.ts";

/** The source of a lorebook entry: messages, or a fragment in the stash. */
export type Passage = { nodeIds: Id[] } | { fragmentId: Id };

/** An imported item that a session can use. */
export interface UsableItem {
  what: "book" | "persona" | "preset";
  id: Id;
  name: string;
}

export type Dialog =
  | { kind: "search"; text: string; at: Id | null }
  | { kind: "trace"; nid: Id }
  | { kind: "rename"; sid: Id; title: string }
  | { kind: "model"; sid: Id; model: string }
  | { kind: "otherModel"; nid: Id }
  | { kind: "delete"; sid: Id; title: string }
  | { kind: "arrangeSessions"; ids: Id[] }
  | { kind: "start"; characterId: Id }
  | { kind: "character" }
  | { kind: "editCharacter"; characterId: Id }
  | { kind: "cardVersions"; characterId: Id }
  | { kind: "useCard"; characterId: Id; sessionIds: Id[] }
  | { kind: "report"; report: Report; characterId: Id | null; n?: number }
  | { kind: "importOptions" }
  | { kind: "useImported"; sid: Id; items: UsableItem[] }
  | { kind: "connect"; providerId: string | null; back: Dialog | null }
  | { kind: "removeServer"; providerId: string }
  | { kind: "pair" }
  | { kind: "nameDevice"; device: Device }
  | { kind: "revokeDevice"; device: Device }
  | { kind: "personas" }
  | { kind: "presets"; presetId: Id | null }
  | { kind: "profiles" }
  | { kind: "export"; sid: Id; title: string; leaf: Id | null }
  | { kind: "label"; nid: Id }
  | { kind: "stash"; fragmentId?: Id | null }
  | { kind: "trash" }
  | { kind: "usage"; sid: Id }
  | { kind: "note" }
  | { kind: "generation" }
  | { kind: "recall" }
  | { kind: "branches" }
  | { kind: "compare"; from: Id; to: Id }
  | { kind: "merge"; from: Id }
  | { kind: "summarise"; first: Id | null; last: Id }
  | { kind: "sessionChoice" }
  | { kind: "valueChart" }
  | { kind: "gitTerms" }
  | { kind: "history"; path: string }
  | { kind: "plugins" }
  | { kind: "requestedSettings" }
  | { kind: "presetScripts"; presetIds: Id[]; back: Dialog | null }
  | { kind: "workshop"; pluginId: string | null }
  | { kind: "purge"; nid: Id }
  | { kind: "saveLoreEntry"; passage: Passage }
  | { kind: "lore"; bookId: Id | null; uid: string | null };
