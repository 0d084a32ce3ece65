// Folders that somebody brings in: the files of one, and what of it is the data of whom.
import type { Part } from "./zip.ts";

/** The files below what was dropped. */
export async function filesIn(entries: FileSystemEntry[]): Promise<Part[]> {
  const found: Part[] = [];
  for (const waiting = [...entries]; waiting.length > 0; ) {
    const next = waiting.pop() as FileSystemEntry;
    if (next.isDirectory) waiting.push(...(await listed(next as FileSystemDirectoryEntry)));
    else found.push({ path: next.fullPath.replace(/^\//, ""), file: await fileOf(next as FileSystemFileEntry) });
  }
  return found;
}

/** A browser lists a folder in portions. */
async function listed(folder: FileSystemDirectoryEntry) {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const portion: FileSystemEntry[] = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (portion.length === 0) return all;
    all.push(...portion);
  }
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

/** The files of a folder that was chosen. */
export const filesOf = (files: Iterable<File>): Part[] =>
  [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

/** What lies in a folder of data and is no part of a story, nor of who plays in it: it stays where it is. */
const ASIDE = new Set([
  "assets",
  "backgrounds",
  "backups",
  "extensions",
  "movingUI",
  "secrets.json",
  "thumbnails",
  "user",
  "vectors",
]);

/** The data of somebody in a folder: where it lies, what is sent, and what is left where it is. */
export interface Data {
  home: string;
  parts: Part[];
  bytes: number;
  aside: Part[];
}

/**
 * Whose data a folder has: each lies where the folders `characters` or `chats` are. Without any, the whole is sent,
 * and the server says what it is.
 */
export function dataIn(parts: Part[]): Data[] {
  const homes = [...new Set(parts.flatMap(({ path }) => homeOf(path) ?? []))].sort();
  return (homes.length ? homes : [""]).map((home) => {
    const own = parts.filter(({ path }) => path.startsWith(home));
    const aside = own.filter(({ path }) => isAside(path.slice(home.length)));
    const left = new Set(aside);
    const sent = own.filter((part) => !left.has(part));
    return { home, parts: sent, bytes: sent.reduce((sum, { file }) => sum + file.size, 0), aside };
  });
}

function homeOf(path: string) {
  const steps = path.split("/");
  const at = steps.findIndex((step) => step === "characters" || step === "chats");
  return at < 0 || at === steps.length - 1
    ? null
    : steps
        .slice(0, at)
        .map((step) => `${step}/`)
        .join("");
}

/**
 * Pictures of moods lie beside the cards, in folders.
 * @param path below the home
 */
const isAside = (path: string) => ASIDE.has(path.split("/")[0] ?? "") || /(^|\/)\.|^characters\/[^/]+\//.test(path);
