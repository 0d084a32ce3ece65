// Packs files into a ZIP archive without compression. The archive is a list of headers and file references, so no file
// is held in memory. Only the checksums need to read the files, one piece at a time. ZIP libraries would need more
// memory. They return a stream, which a page must collect into a second copy before it can send it.

export interface ZipPart {
  path: string;
  file: File;
}

/** Largest values of four and two bytes. Larger ones need the ZIP64 fields. */
const FOUR = 0xffff_ffff;
const TWO = 0xffff;
/** The flag for UTF-8 names. */
const FLAGS = 0x800;
const VERSION = 45;
/** The first date of the ZIP format. Nothing here needs the real date. */
const DAY = 0x21;

/**
 * Packs files.
 * @param read called with the number of bytes read so far
 * @returns the archive, and the files that could not be read
 */
export async function packZip(
  parts: ZipPart[],
  read: (bytes: number) => void,
  signal: AbortSignal,
): Promise<{ archive: Blob; unread: string[] }> {
  const pieces: BlobPart[] = [];
  const list: Uint8Array<ArrayBuffer>[] = [];
  const unread = [];
  let [at, seen] = [0, 0];
  for (const { path, file } of parts) {
    const sum = await checksum(file, (bytes) => read((seen += bytes)), signal).catch(
      () => (signal.throwIfAborted(), null),
    );
    if (sum === null) {
      unread.push(path);
      continue;
    }
    const name = new TextEncoder().encode(path);
    const head = header(name, sum, file.size);
    pieces.push(head, file);
    list.push(entry(name, sum, file.size, at));
    at += head.length + file.size;
  }
  const length = list.reduce((all, { length }) => all + length, 0);
  return { archive: new Blob([...pieces, ...list, end(list.length, length, at)], { type: "application/zip" }), unread };
}

const header = (name: Uint8Array, sum: number, size: number) => {
  const long = size >= FOUR ? littleEndian([2, 1], [2, 16], [8, size], [8, size]) : new Uint8Array();
  const short = Math.min(size, FOUR);
  return joinBytes(
    littleEndian(
      [4, 0x04034b50],
      [2, VERSION],
      [2, FLAGS],
      [2, 0],
      [2, 0],
      [2, DAY],
      [4, sum],
      [4, short],
      [4, short],
      [2, name.length],
      [2, long.length],
    ),
    name,
    long,
  );
};

const entry = (name: Uint8Array, sum: number, size: number, at: number) => {
  const isLong = size >= FOUR || at >= FOUR;
  const long = isLong ? littleEndian([2, 1], [2, 24], [8, size], [8, size], [8, at]) : new Uint8Array();
  const [short, where] = isLong ? [FOUR, FOUR] : [size, at];
  return joinBytes(
    littleEndian(
      [4, 0x02014b50],
      [2, VERSION],
      [2, VERSION],
      [2, FLAGS],
      [2, 0],
      [2, 0],
      [2, DAY],
      [4, sum],
      [4, short],
      [4, short],
      [2, name.length],
      [2, long.length],
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, where],
    ),
    name,
    long,
  );
};

/**
 * @param length of the central directory in bytes
 * @param at its offset
 */
const end = (count: number, length: number, at: number) => {
  const isLong = count >= TWO || at >= FOUR || length >= FOUR;
  const long = isLong
    ? littleEndian(
        [4, 0x06064b50],
        [8, 44],
        [2, VERSION],
        [2, VERSION],
        [4, 0],
        [4, 0],
        [8, count],
        [8, count],
        [8, length],
        [8, at],
        [4, 0x07064b50],
        [4, 0],
        [8, at + length],
        [4, 1],
      )
    : new Uint8Array();
  const n = Math.min(count, TWO);
  return joinBytes(
    long,
    littleEndian(
      [4, 0x06054b50],
      [2, 0],
      [2, 0],
      [2, n],
      [2, n],
      [4, Math.min(length, FOUR)],
      [4, Math.min(at, FOUR)],
      [2, 0],
    ),
  );
};

/**
 * Returns numbers as little-endian bytes.
 * @param all pairs of size in bytes and value
 */
function littleEndian(...all: [2 | 4 | 8, number][]) {
  const view = new DataView(new ArrayBuffer(all.reduce((sum, [bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [bytes, value] of all) {
    if (bytes === 8) view.setBigUint64(at, BigInt(value), true);
    else view[bytes === 4 ? "setUint32" : "setUint16"](at, value, true);
    at += bytes;
  }
  return new Uint8Array(view.buffer);
}

function joinBytes(...parts: Uint8Array[]) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit += 1) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

async function checksum(file: Blob, read: (bytes: number) => void, signal: AbortSignal) {
  const reader = file.stream().getReader();
  let sum = -1;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return ~sum >>> 0;
    signal.throwIfAborted();
    for (const byte of value) sum = (TABLE[(sum ^ byte) & 255] ?? 0) ^ (sum >>> 8);
    read(value.length);
  }
}
