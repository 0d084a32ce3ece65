// Imported folders: their files, and whose data is in them.
import type { ZipPart } from "./zip.ts";

/** Returns all files below dropped entries. */
export async function filesIn(entries: FileSystemEntry[]): Promise<ZipPart[]> {
  const found: ZipPart[] = [];
  for (const waiting = [...entries]; waiting.length > 0; ) {
    const next = waiting.pop() as FileSystemEntry;
    if (next.isDirectory) waiting.push(...(await listFolder(next as FileSystemDirectoryEntry)));
    else found.push({ path: next.fullPath.replace(/^\//, ""), file: await fileOf(next as FileSystemFileEntry) });
  }
  return found;
}

/** Lists a folder. Browsers return its entries in portions. */
async function listFolder(folder: FileSystemDirectoryEntry) {
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

/** Returns the files of a chosen folder. */
export const filesOf = (files: Iterable<File>): ZipPart[] =>
  [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

/** Parts of a data folder that belong to no story and no character. They are not sent. */
const SKIPPED_PARTS = new Set([
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

/** The data of one user in a folder: the path, the files to send, and the files that are left out. */
export interface UserData {
  home: string;
  parts: ZipPart[];
  bytes: number;
  skipped: ZipPart[];
}

/**
 * Finds the users' data in a folder. Each is the parent of a folder `characters` or `chats`. Without any, everything is
 * sent and the server says what it is.
 */
export function dataIn(parts: ZipPart[]): UserData[] {
  const homes = [...new Set(parts.flatMap(({ path }) => homeOf(path) ?? []))].sort();
  return (homes.length ? homes : [""]).map((home) => {
    const own = parts.filter(({ path }) => path.startsWith(home));
    const skipped = own.filter(({ path }) => isSkipped(path.slice(home.length)));
    const left = new Set(skipped);
    const sent = own.filter((part) => !left.has(part));
    return { home, parts: sent, bytes: sent.reduce((sum, { file }) => sum + file.size, 0), skipped };
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
 * Whether a file is left out. Folders of expression pictures are next to the cards.
 * @param path relative to the data folder
 */
const isSkipped = (path: string) =>
  SKIPPED_PARTS.has(path.split("/")[0] ?? "") || /(^|\/)\.|^characters\/[^/]+\//.test(path);
