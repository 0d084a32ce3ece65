//! Fuzz targets: functions over untrusted bytes, with the properties that must hold. A fuzzer calls them with
//! generated input. The tests (`tests/it/fuzz_corpus.rs`) call them with the files in `corpus`: inputs that once failed,
//! and inputs that lead a fuzzer to each part.
//!
//! To add one: write a function here, a file of the same name in `fuzz_targets`, a line in `TARGETS`, and a few small
//! files in a folder of that name below `corpus`.

use std::sync::Arc;

use clotho_compat::interop::{card, chat, foreign_chat, lorebook, persona, png, preset};
use clotho_compat::prompt::macros::{MacroContext, MacroEngine};
use clotho_core::clock::Time;
use clotho_core::json_scan::{self, JsonBounds};
use clotho_core::world::{Pointer, Schema, SchemaSet, StateOperation, World, canonical, diff, fold};
use clotho_plugin::{InitVarText, Manifest, ScriptLimits, heap, mvu};
use clotho_provider::sse::{LineTooLong, SseEvent, SseParser};
use clotho_provider::{ChatTemplate, Frame, ProviderKind, RequestMessage, RequestRole, Tokenizer};
use clotho_search::{LocalNow, ParsedQuery};
use clotho_store::archive::{ArchiveLimits, ArchiveReader};
use serde_json::{Map, Value, json};

/// A function over untrusted bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 15] = [
    ("json", json),
    ("sse", sse),
    ("reply", reply),
    ("models", models),
    ("template", template),
    ("tokenizer", tokenizer),
    ("import", import),
    ("png", png),
    ("archive", archive),
    ("values", values),
    ("query", query),
    ("operations", operations),
    ("macros", macros),
    ("mvu", mvu),
    ("manifest", manifest),
];

/// Most memory of the values of a JSON document. Lists and maps grow by doubling, so they can have twice what is
/// counted. A document of up to 4 MB may have four times its length more.
const DOCUMENT_MEMORY: usize = 2 * (JsonBounds::DOCUMENT.memory + (16 << 20));
/// Most memory for reading a file to import: the values of a document, and some copies of its unpacked texts (32 MB).
const IMPORT_MEMORY: usize = 4 * DOCUMENT_MEMORY;
/// Most memory for reading a tokenizer, and for a text in YAML.
const FILE_MEMORY: usize = 256 << 20;

/// Runs a reader and checks that it never holds more than so many bytes of memory.
fn within<R>(limit: usize, read: impl FnOnce() -> R) -> R {
    heap::reset_peak();
    let before = heap::live_bytes();
    let result = read();
    let held = heap::peak_bytes() - before;
    assert!(i64::try_from(limit).is_ok_and(|limit| held <= limit), "{held} bytes of memory, the limit is {limit}");
    result
}

/// Scans JSON before it is parsed, as every reader of JSON does, also that of request bodies. What passes the scan is
/// not deeper than the bounds, needs about the counted memory, and has no U+0000.
pub fn json(bytes: &[u8]) {
    const BOUNDS: JsonBounds = JsonBounds { depth: 16, memory: 64 << 10, growth: 0 };
    let text = String::from_utf8_lossy(bytes);
    let is_bounded = json_scan::check_bounds(&text, BOUNDS).is_ok();
    let is_clean = json_scan::scan(&text, BOUNDS).is_ok();
    assert!(is_bounded || !is_clean);
    if !is_bounded {
        return;
    }
    let limit = 2 * BOUNDS.memory + 4 * text.len() + 4_096;
    let Ok(value) = within(limit, || serde_json::from_str::<Value>(&text)) else { return };
    assert!(depth_of(&value) <= BOUNDS.depth);
    assert!(!is_clean || !has_nul(&value));
}

fn depth_of(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth_of).max().unwrap_or_default(),
        Value::Object(map) => 1 + map.values().map(depth_of).max().unwrap_or_default(),
        _ => 0,
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(list) => list.iter().any(has_nul),
        Value::Object(map) => map.iter().any(|(key, value)| key.contains('\0') || has_nul(value)),
        _ => false,
    }
}

/// Parses a model server's stream: wherever it is split, it gives the same events.
pub fn sse(bytes: &[u8]) {
    let Some((cut, stream)) = bytes.split_first() else { return };
    let heard = |pieces: &[&[u8]]| -> (Vec<SseEvent>, Result<Option<SseEvent>, LineTooLong>) {
        let (mut parser, mut events) = (SseParser::new(1_000), Vec::new());
        let fed = pieces.iter().try_for_each(|piece| parser.feed(piece, &mut events));
        let end = fed.and_then(|()| parser.finish(&mut events));
        (events, end)
    };
    let (at, whole) = (usize::from(*cut).min(stream.len()), heard(&[stream]));
    let (first, second) = stream.split_at(at);
    assert_eq!(heard(&[first, second]), whole);
    let each: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(heard(&each), whole);
}

/// Reads a reply of each kind of model server, split at one place. Its text stays within the limit, and no piece of it
/// is empty or has U+0000.
pub fn reply(bytes: &[u8]) {
    const LIMIT: usize = 256;
    let Some((cut, body)) = bytes.split_first() else { return };
    let (first, second) = body.split_at(usize::from(*cut).min(body.len()));
    for kind in ProviderKind::all() {
        let mut frames = Vec::new();
        if let Err(failure) = within(DOCUMENT_MEMORY, || kind.decode_reply(&[first, second], LIMIT, &mut frames)) {
            assert!(!failure.to_string().is_empty());
        }
        let mut written = 0;
        for frame in &frames {
            let (Frame::Text(words) | Frame::Reasoning(words)) = frame else { continue };
            assert!(!words.is_empty() && !words.contains('\0'));
            written += words.len();
        }
        assert!(written <= LIMIT);
    }
}

/// Reads model lists of each kind of model server. NUL bytes separate the bodies of several lists.
pub fn models(bytes: &[u8]) {
    let bodies: Vec<&[u8]> = bytes.split(|byte| *byte == 0).take(3).collect();
    for kind in ProviderKind::all() {
        let listed = within(4 * DOCUMENT_MEMORY, || kind.parse_model_lists(&bodies)).unwrap_or_default();
        assert!(listed.len() <= bytes.len() + 1);
    }
}

/// Uses the chat template of a model server. There is always a prompt, and its size is limited.
pub fn template(bytes: &[u8]) {
    let template = ChatTemplate::from_setting("auto");
    template.set_server_template(&String::from_utf8_lossy(bytes));
    let roles = [RequestRole::System, RequestRole::User, RequestRole::Assistant, RequestRole::User];
    let said = ["Tell it.", "Who is there?", "The <|im_end|> keeper.", "Open the door."];
    let messages = roles.into_iter().zip(said);
    let messages: Vec<RequestMessage> =
        messages.map(|(role, content)| RequestMessage { role, name: None, content: content.to_owned() }).collect();
    let prompt = template.render(&messages);
    assert!(prompt.text.contains("Open the door.") && prompt.text.len() <= 2 << 20);
    assert!(prompt.stops.len() <= 2);
}

/// Reads a `tokenizer.json` and counts a text with it.
pub fn tokenizer(bytes: &[u8]) {
    let Ok(tokenizer) = within(FILE_MEMORY, || Tokenizer::from_bytes("file", bytes)) else { return };
    within(FILE_MEMORY, || tokenizer.count("The lamp burns, 夜 falls; nobody speaks for a long while."));
}

/// Reads a file to import: cards, lorebooks, personas, presets, chats of other programs.
pub fn import(bytes: &[u8]) {
    within(IMPORT_MEMORY, || drop(card::read(bytes)));
    within(IMPORT_MEMORY, || drop(lorebook::read(bytes)));
    within(IMPORT_MEMORY, || drop(persona::read(bytes)));
    within(IMPORT_MEMORY, || drop(preset::read(bytes)));
    within(IMPORT_MEMORY, || drop(foreign_chat::read(bytes)));
    for line in bytes.split(|byte| *byte == b'\n') {
        within(IMPORT_MEMORY, || drop(chat::read(line)));
    }
}

/// Reads what stands beside a picture: a text chunk with a correct checksum, of the kind that the first byte chooses.
pub fn png(bytes: &[u8]) {
    const MAX_TEXT_BYTES: usize = 32 << 20;
    let Some((kind, data)) = bytes.split_first() else { return };
    let kind = match kind % 3 {
        0 => b"tEXt",
        1 => b"zTXt",
        _ => b"iTXt",
    };
    let chunks = [png::encode_chunk(kind, data), png::encode_chunk(b"IEND", b"")].concat();
    let file = [png::SIGNATURE.as_slice(), &chunks].concat();
    let (chunks, fault) = png::read_chunks(&file).unwrap_or_default();
    assert!(chunks.len() == 2 && fault.is_none());
    for chunk in chunks {
        let text = within(4 * MAX_TEXT_BYTES, || chunk.text()).unwrap_or_default();
        assert!(text.len() <= MAX_TEXT_BYTES);
    }
    within(IMPORT_MEMORY, || drop(card::read(&file)));
    within(IMPORT_MEMORY, || drop(lorebook::read(&file)));
}

/// Reads a session file: the bytes as they are, and the bytes as its unpacked content.
pub fn archive(bytes: &[u8]) {
    let limits = ArchiveLimits { total: 1 << 20, line: 64 << 10 };
    for file in [bytes.to_vec(), zstd_frame(bytes)] {
        within(DOCUMENT_MEMORY, || {
            let Ok(mut reader) = ArchiveReader::begin(file.as_slice(), limits) else { return };
            while let Ok(Some(_)) = reader.next_line() {}
            assert!(reader.bytes() <= limits.total + 1);
        });
    }
}

/// Returns bytes as a zstd stream of uncompressed blocks.
fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    /// Bytes of a block. The window is as large.
    const BLOCK_BYTES: usize = 128 << 10;
    // The magic number, a header without fields, and the window: 2 to the power of 10 + 7.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];
    let mut rest = bytes;
    loop {
        let (block, after) = rest.split_at(rest.len().min(BLOCK_BYTES));
        let header = u32::try_from(block.len() << 3).unwrap_or_default() | u32::from(after.is_empty());
        frame.extend(header.to_le_bytes().into_iter().take(3));
        frame.extend(block);
        if after.is_empty() {
            return frame;
        }
        rest = after;
    }
}

/// Reads initial values of a story: YAML, TOML or relaxed JSON, in an entry and in a greeting.
pub fn values(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let greeting = format!("Hello. <initvar>{text}</initvar>");
    let starts = [InitVarText { name: "start".to_owned(), text }];
    let unread = within(FILE_MEMORY, || mvu::unreadable_initial_values(&starts, &greeting));
    assert!(unread.len() <= 2);
}

/// Parses a typed search query. An error has a message.
pub fn query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let today = LocalNow { now: Time(1_763_700_000_000), utc_offset_minutes: 60 };
    match ParsedQuery::parse(&text, today) {
        Ok(query) => assert!(query.tree_conditions().len() <= text.len()),
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
}

/// Applies operations to a world, with and without a schema. All at once and in two parts give the same world, and a
/// world reads back as it was written.
pub fn operations(bytes: &[u8]) {
    let Ok(Value::Array(given)) = serde_json::from_slice::<Value>(bytes) else {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(pointer) = text.parse::<Pointer>() {
            assert_eq!(pointer.to_string().parse::<Pointer>().as_ref(), Ok(&pointer));
        }
        return;
    };
    let all: Vec<StateOperation> = given.iter().filter_map(|one| StateOperation::from_json(one).ok()).collect();
    for one in &all {
        assert_eq!(StateOperation::from_json(&one.to_json()).as_ref(), Ok(one));
    }
    for rules in [SchemaSet::default(), test_schemas()] {
        let mut at_once = initial_world();
        fold(&mut at_once, &all, &rules);
        let (mut in_parts, half) = (initial_world(), all.len() / 2);
        fold(&mut in_parts, &all[..half], &rules);
        fold(&mut in_parts, &all[half..], &rules);
        assert_eq!(at_once.hash(), in_parts.hash());
        assert_eq!(diff(&at_once, &in_parts), []);
        assert_eq!(World::from_json(at_once.to_json()).map(|same| same.hash()), Some(at_once.hash()));
        let _ = canonical::hash(&at_once.to_json());
    }
}

fn initial_world() -> World {
    let vars = json!({"hp": 20, "name": "Rin", "bag": ["rope", {"coins": 3}], "keep": {"door": false, "n": 1.5}});
    World { vars: vars.as_object().cloned().unwrap_or_default(), ..World::default() }
}

fn test_schemas() -> SchemaSet {
    let schema = json!({"type": "object", "properties": {
        "hp": {"type": "integer", "minimum": 0, "maximum": 40},
        "name": {"type": "string", "maxLength": 8},
        "bag": {"type": "array", "maxItems": 4},
        "twice": {"type": "integer", "x-computed": "hp * 2"},
    }});
    let schema = Schema::parse(schema).unwrap_or_else(|fault| panic!("the schema of the target: {fault}"));
    SchemaSet::new(vec![(Pointer::default(), Arc::new(schema))]).unwrap_or_default()
}

/// Fills in macros: it terminates, and a text without braces or `<` stays the same.
pub fn macros(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let facts = MacroContext { user: "Wren".into(), character: "Rin".into(), ..MacroContext::default() };
    let mut drawn = 0.0;
    let mut draw = || {
        drawn = (drawn + 0.37) % 1.0;
        drawn
    };
    let mut macros = MacroEngine::new(&facts, Map::new(), Map::new(), &mut draw);
    let filled = macros.fill(&text);
    assert!(text.contains(['{', '}', '<']) || filled == text);
}

/// Replays MVU commands in a model's text, and removes them from the text.
pub fn mvu(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut after = initial_world();
    let replayed = mvu::replay(&text, &Pointer::default(), &mut after);
    let mut again = initial_world();
    fold(&mut again, &replayed.operations, &SchemaSet::default());
    assert_eq!(after.hash(), again.hash());
    let _ = mvu::count_commands(&text);
    assert!(mvu::without_commands(&text).len() <= text.len());
}

/// Parses a plugin manifest.
pub fn manifest(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Manifest::parse(&text, "lamp", &ScriptLimits::default()) {
        Ok(manifest) => assert!(!manifest.id.is_empty()),
        Err(fault) => assert!(!fault.message.is_empty()),
    }
}
