// Tests without a browser: how the page reads files before it sends them, and how it reads a report.
import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { fileKind, jsonKind } from "../../static/src/lib/file-kind.ts";
import { foldRepeated, groupFindings, kindsOf, filterItems, countFates } from "../../static/src/lib/findings.ts";
import { dataIn, filesIn } from "../../static/src/lib/import-folder.ts";
import { bytes, rate, span } from "../../static/src/lib/units.ts";
import { packZip } from "../../static/src/lib/zip.ts";

const golden = new URL("../fixtures/golden/", import.meta.url);
const part = (path, text = path) => ({ path, file: new File([text], path.split("/").at(-1)) });

describe("the kind of a file", () => {
  test("S0-05: every recorded card and lorebook is recognised", async () => {
    for (const [folder, wanted] of [
      ["cards", "card"],
      ["books", "book"],
    ]) {
      const names = (await readdir(new URL(`${folder}/`, golden))).filter((name) => !name.endsWith(".expect.json"));
      assert.ok(names.length > 3);
      for (const name of names)
        assert.equal(
          await fileKind(new File([await readFile(new URL(`${folder}/${name}`, golden))], name)),
          wanted,
          name,
        );
    }
  });

  test("a file is recognised by its name, or else by its content", async () => {
    for (const [name, text, wanted] of [
      ["Over the ice.CLOTHO", "", "session"],
      ["Night.jsonl", "{}", "foreign"],
      ["default-user.zip", "PK", "foreign"],
      ["notes.txt", "", "foreign"],
      ["a.yaml", "name: Rin", "card"],
      ["Anna.byaf", "PK", "card"],
      ["Nell.jpeg", "", "foreign"],
      ["broken.json", "{", "card"],
      ["big.json", " ".repeat((16 << 20) + 1), "foreign"],
    ])
      assert.equal(await fileKind(new File([text], name)), wanted, name);
  });

  test("JSON is recognised by its keys", () => {
    for (const [value, wanted] of [
      [{ power_user: { personas: {} } }, "persona"],
      [{ personas: {}, persona_descriptions: {} }, "persona"],
      [{ name: "Rin", description: "A cartographer." }, "card"],
      [{ char_name: "Rin", char_persona: "x" }, "card"],
      [{ kind: "character", name: "Rin", persona: {} }, "card"],
      [{ kind: "memory", entries: [] }, "book"],
      [{ spec: "lorebook_v3", data: { entries: [] } }, "book"],
      [{ type: "risu", data: [] }, "book"],
      [{ type: "risuChat", data: {} }, "foreign"],
      [{ name: "A chat", description: "", messages: [] }, "foreign"],
      [[{ mapping: {} }], "foreign"],
      [{ conversationId: "x", messages: [] }, "foreign"],
      [{ prompts: [], prompt_order: [] }, "preset"],
      [[{ scriptName: "Trim", findRegex: "a" }], "preset"],
      [{ name: "Think", prefix: "<think>", suffix: "</think>", separator: "" }, "preset"],
      [{ name: "Calm", content: "Write calmly." }, "preset"],
      [null, "foreign"],
    ])
      assert.equal(jsonKind(JSON.stringify(value)), wanted, JSON.stringify(value));
    for (const [text, wanted] of [
      ['{"entries": {"0": {"key": ["a"],}}}', "book"],
      ['{"lorebookVersion": 5, "entr', "book"],
      ['{"spec": "chara_card_v2", "data": {"character_book": {"entries": [', "card"],
      ['{"power_user": {"personas": {', "persona"],
      ['[{"mapping": {"a": ', "foreign"],
      ['{"temperature": 1, "prompts": [', "preset"],
      ['{"name": "Rin", ', "card"],
    ])
      assert.equal(jsonKind(text), wanted, `what is broken goes where it was to go: ${text}`);
    assert.equal(jsonKind('\uFEFF{"entries": {}}'), "book", "a mark of the byte order is no part of it");
  });

  test("a picture with a NovelAI lorebook is a lorebook, whatever else it contains", async () => {
    const chunk = (kind, text) => {
      const data = Buffer.from(text, "latin1");
      const head = Buffer.alloc(8);
      head.writeUInt32BE(data.length);
      head.write(kind, 4, "latin1");
      return Buffer.concat([head, data, Buffer.alloc(4)]);
    };
    const picture = (...texts) =>
      new File(
        [
          Buffer.concat([
            Buffer.from("\x89PNG\r\n\x1A\n", "latin1"),
            chunk("IHDR", "x".repeat(13)),
            chunk("IDAT", "x".repeat(9000)),
            ...texts.map((text) => chunk("tEXt", text)),
            chunk("IEND", ""),
          ]),
        ],
        "a.png",
      );
    assert.equal(await fileKind(picture("Software\0x", "naidata\0e30=")), "book");
    assert.equal(await fileKind(picture("chara\0e30=")), "card");
    const lying = Buffer.concat([
      Buffer.from("\x89PNG\r\n\x1A\n", "latin1"),
      Buffer.from([255, 255, 255, 255]),
      Buffer.from("tEXtnaidata", "latin1"),
    ]);
    assert.equal(await fileKind(new File([lying], "lying.png")), "card", "a length that lies ends the reading");
  });
});

describe("a zip archive", () => {
  /** Reads the central directory of an archive, and each file at its offset. */
  function unpacked(bytes) {
    const end = bytes.lastIndexOf("PK\x05\x06", undefined, "latin1");
    const [count, length, start] = [
      bytes.readUInt16LE(end + 10),
      bytes.readUInt32LE(end + 12),
      bytes.readUInt32LE(end + 16),
    ];
    assert.equal(start + length, end);
    const found = {};
    for (let at = start, n = 0; n < count; n += 1) {
      assert.equal(bytes.readUInt32LE(at), 0x02014b50);
      const [sum, size, nameLength, where] = [
        bytes.readUInt32LE(at + 16),
        bytes.readUInt32LE(at + 24),
        bytes.readUInt16LE(at + 28),
        bytes.readUInt32LE(at + 42),
      ];
      const name = bytes.subarray(at + 46, at + 46 + nameLength).toString();
      assert.equal(bytes.readUInt32LE(where), 0x04034b50);
      const data = bytes.subarray(where + 30 + nameLength, where + 30 + nameLength + size);
      assert.equal(crc32(data), sum, name);
      found[name] = data.toString();
      at += 46 + nameLength;
    }
    return found;
  }

  test("S4-53: the archive contains every file under its path, in order, with checksums; unreadable files are named", async () => {
    const broken = new File(["x"], "gone.jsonl");
    broken.stream = () => {
      throw new DOMException("it is gone", "NotReadableError");
    };
    const seen = [];
    const parts = [
      part("chats/Ivo/夜.jsonl", "{}\n{}"),
      { path: "chats/Ivo/gone.jsonl", file: broken },
      part("characters/Ivo.json", ""),
    ];
    const { archive, unread } = await packZip(parts, (n) => seen.push(n), new AbortController().signal);
    assert.deepEqual(unpacked(Buffer.from(await archive.arrayBuffer())), {
      "chats/Ivo/夜.jsonl": "{}\n{}",
      "characters/Ivo.json": "",
    });
    assert.deepEqual(unread, ["chats/Ivo/gone.jsonl"]);
    assert.equal(seen.at(-1), 5);
  });

  test("the archive can contain more files than two bytes count", async () => {
    const parts = Array.from({ length: 66_000 }, (_, n) => part(`${n}`, ""));
    const { archive } = await packZip(parts, () => {}, new AbortController().signal);
    const whole = Buffer.from(await archive.slice(-98).arrayBuffer());
    assert.equal(whole.readUInt32LE(0), 0x06064b50);
    assert.equal(whole.readBigUInt64LE(32), 66_000n);
    assert.equal(whole.readUInt32LE(56), 0x07064b50);
    assert.equal(whole.readBigUInt64LE(56 + 8), BigInt(archive.size - 98));
    assert.equal(whole.readUInt16LE(76 + 10), 0xffff);
  });

  test("packing stops when it is cancelled", async () => {
    const stop = new AbortController();
    await assert.rejects(
      packZip([part("a"), part("b")], () => stop.abort(), stop.signal),
      { name: "AbortError" },
    );
  });
});

describe("a data folder", () => {
  test("S4-53: the data folder is found at any depth; keys and files of no session are left out", () => {
    const paths = [
      "st/config.yaml",
      "st/data/ann/characters/Ivo.png",
      "st/data/ann/characters/Ivo/joy.png",
      "st/data/ann/chats/backups/a.jsonl",
      "st/data/ann/secrets.json",
      "st/data/ann/backups/a.jsonl",
      "st/data/ann/settings.json",
      "st/data/ann/.DS_Store",
      "st/data/bob/chats/Ivo/a.jsonl",
    ];
    const [ann, bob] = dataIn(paths.map((path) => part(path)));
    assert.equal(ann.home, "st/data/ann/");
    assert.deepEqual(
      ann.parts.map(({ path }) => path.slice(ann.home.length)),
      ["characters/Ivo.png", "chats/backups/a.jsonl", "settings.json"],
    );
    assert.equal(ann.skipped.length, 4);
    assert.equal(
      ann.bytes,
      ann.parts.reduce((sum, { path }) => sum + path.length, 0),
    );
    assert.deepEqual([bob.home, bob.parts.length], ["st/data/bob/", 1]);
    assert.deepEqual(
      dataIn([part("chats/Ivo/a.jsonl")]).map(({ home }) => home),
      [""],
    );
    assert.deepEqual(
      dataIn([part("x/y.txt")]).map(({ home, parts }) => [home, parts.length]),
      [["", 1]],
      "the server says what it is",
    );
  });

  test("a folder is read completely although a browser lists it in portions", async () => {
    const file = (fullPath) => ({ isDirectory: false, fullPath, file: (done) => done(new File(["x"], fullPath)) });
    const folder = (fullPath, portions) => ({
      isDirectory: true,
      fullPath,
      createReader: () => ({ readEntries: (done) => done(portions.shift() ?? []) }),
    });
    const top = folder("/d", [[file("/d/a"), folder("/d/e", [[file("/d/e/b")]])], [file("/d/c")]]);
    assert.deepEqual((await filesIn([top])).map(({ path }) => path).sort(), ["d/a", "d/c", "d/e/b"]);
  });
});

describe("a report", () => {
  const finding = (fate, code, count = 1, message = code) => ({ fate, code, count, line: null, message });
  const item = (kind, name, fate, ...findings) => ({ kind, name, file: `${name}.json`, id: null, fate, findings });
  const items = [
    item("character", "Ivo", "works", finding("kept", "scripts", 3)),
    item(
      "session",
      "Night",
      "works",
      finding("skipped", "bad_line", 1, "line 812 is not JSON"),
      finding("translated", "mvu", 40),
    ),
    item("session", "Morning", "works", finding("translated", "mvu", 2)),
    item("file", "x", "skipped", finding("skipped", "unread")),
  ];
  const words = ({ message }) => message;
  const names = (wanted) =>
    filterItems(items, { fate: null, kind: "", text: "", ...wanted }, words).map(({ name, findings }) => [
      name,
      findings.length,
    ]);

  test("S4-53: findings are counted and filtered by fate, kind and text", () => {
    assert.deepEqual(countFates(items), { works: 3, translated: 2, kept: 1, skipped: 2 });
    assert.deepEqual(kindsOf(items), ["character", "session", "file"]);
    assert.deepEqual(names({ fate: "skipped" }), [
      ["Night", 1],
      ["x", 1],
    ]);
    assert.deepEqual(names({ kind: "session" }), [
      ["Night", 2],
      ["Morning", 1],
    ]);
    assert.deepEqual(names({ text: "812" }), [["Night", 1]]);
    assert.deepEqual(names({ text: "IVO" }), [["Ivo", 1]]);
    assert.deepEqual(names({ fate: "works" }), [
      ["Ivo", 0],
      ["Night", 0],
      ["Morning", 0],
    ]);
  });

  test("equal findings of many items are combined, the most frequent first", () => {
    assert.deepEqual(
      groupFindings(items).map(({ code, count, at }) => [code, count, at.map(({ item }) => item.name).join()]),
      [
        ["mvu", 42, "Night,Morning"],
        ["scripts", 3, "Ivo"],
        ["bad_line", 1, "Night"],
        ["unread", 1, "x"],
      ],
    );
  });

  test("a finding that a file repeats is combined, with its first lines", () => {
    const bad = (line, reason = "it is not UTF-8") => ({
      fate: "skipped",
      code: "bad_line",
      args: { reason },
      count: 1,
      line,
      message: reason,
    });
    const [one, two, other] = foldRepeated([
      bad(2),
      bad(3),
      finding("kept", "scripts"),
      bad(7),
      bad(9),
      bad(11, "it is no JSON"),
    ]);
    assert.deepEqual([one.lines, one.times, one.count], [[2, 3, 7], 4, 4]);
    assert.deepEqual([two.code, two.times], ["scripts", 1]);
    assert.deepEqual([other.lines, other.line], [[11], 11]);
  });

  test("sizes, rates and durations are rounded", () => {
    assert.deepEqual([bytes(0), bytes(1_499), bytes(12_340_000), bytes(12e9)], ["0 bytes", "1 kB", "12.3 MB", "12 GB"]);
    assert.deepEqual([rate(4_200_000), rate(90_000)], ["4.2 MB/s", "90 kB/s"]);
    assert.deepEqual([span(0.2), span(75), span(600), span(9_000)], ["1 sec", "75 sec", "10 min", "2.5 hr"]);
  });
});
