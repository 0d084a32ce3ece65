// The reader's lorebooks, without their entries; and the words of entries that were begun in this tab and not saved.
import { signal } from "../../vendor/preact.js";
import { keysOf, recall, remember } from "../lib/storage.ts";
import type { Id, LoreEntry, Lorebook } from "../lib/wire.d.ts";

/** What a reader writes of an entry. */
export type Words = Pick<Required<LoreEntry>, "comment" | "key" | "content" | "constant" | "disable" | "vectorized">;

/** Words that were begun; `before`: what stood there then. */
interface Begun {
  mine: Words;
  before: LoreEntry | null;
}

/** Null: nobody has looked yet. */
export const books = signal<Lorebook[] | null>(null);

export function putBooks(all: Lorebook[]) {
  books.value = all;
}

export const bookById = (id: Id) => books.value?.find((book) => book.id === id) ?? null;

const WHERE = "sessionStorage";
const keyOf = (id: Id, uid: string | null) => `lore.${id}.${uid ?? ""}`;

/**
 * @param id the book
 * @param uid null: of a new entry
 */
export function draftOf(id: Id, uid: string | null): Begun | null {
  try {
    return JSON.parse(recall(keyOf(id, uid), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param begun null forgets it */
export const keepDraft = (id: Id, uid: string | null, begun: Begun | null) =>
  remember(keyOf(id, uid), begun && JSON.stringify(begun), WHERE);

/**
 * What is kept of a passage as lore while it is being written: it belongs to the passage, as no entry is there yet.
 */
interface Keeping {
  mine: Omit<Words, "disable" | "vectorized">;
  where: string;
  book: string;
}

const keeping = (passage: unknown) => `keepLore.${JSON.stringify(passage)}`;

export function keepingOf(passage: unknown): Keeping | null {
  try {
    return JSON.parse(recall(keeping(passage), WHERE) ?? "null");
  } catch {
    return null;
  }
}

/** @param begun null forgets it */
export const putKeeping = (passage: unknown, begun: Keeping | null) =>
  remember(keeping(passage), begun && JSON.stringify(begun), WHERE);

/** The entries of a book that were begun and not saved; null is a new one. */
export const begunIn = (id: Id): (string | null)[] =>
  keysOf(keyOf(id, ""), WHERE).map((key) => key.slice(keyOf(id, "").length) || null);

/** Whether a reader would see no difference. */
export const alike = (one: Partial<LoreEntry>, other: Partial<LoreEntry>) => seen(one) === seen(other);

const seen = ({ comment, key, content, constant, disable, vectorized }: Partial<LoreEntry>) =>
  JSON.stringify([
    (comment ?? "").trim(),
    key ?? [],
    (content ?? "").replaceAll("\r\n", "\n"),
    constant === true,
    disable === true,
    vectorized === true,
  ]);
