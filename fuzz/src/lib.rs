//! Fuzz targets: functions over untrusted bytes, with the properties that must hold. A fuzzer calls them with
//! generated input. The tests (`tests/it/fuzz_corpus.rs`) call them with the files in `corpus`: inputs that once failed,
//! and inputs that lead a fuzzer to each part.
//!
//! To add one: write a function here, a file of the same name in `fuzz_targets`, a line in `TARGETS`, and a few small
//! files in a folder of that name below `corpus`.

use std::sync::Arc;

use clotho_compat::interop::{card, chat, foreign_chat, lorebook, persona, preset};
use clotho_compat::prompt::macros::{MacroContext, MacroEngine};
use clotho_core::clock::Time;
use clotho_core::world::{Pointer, Schema, SchemaSet, StateOperation, World, canonical, diff, fold};
use clotho_plugin::{Manifest, ScriptLimits, mvu};
use clotho_provider::sse::{LineTooLong, SseEvent, SseParser};
use clotho_search::{LocalNow, ParsedQuery};
use serde_json::{Map, Value, json};

/// A function over untrusted bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 7] = [
    ("sse", sse),
    ("import", import),
    ("query", query),
    ("operations", operations),
    ("macros", macros),
    ("mvu", mvu),
    ("manifest", manifest),
];

/// Parses a model server's stream: wherever it is split, it gives the same events.
pub fn sse(bytes: &[u8]) {
    let Some((cut, stream)) = bytes.split_first() else { return };
    let heard = |pieces: &[&[u8]]| -> (Vec<SseEvent>, Result<Option<String>, LineTooLong>) {
        let (mut parser, mut events) = (SseParser::new(1_000), Vec::new());
        let fed = pieces.iter().try_for_each(|piece| parser.feed(piece, &mut events));
        (events, fed.and_then(|()| parser.finish()))
    };
    let (at, whole) = (usize::from(*cut).min(stream.len()), heard(&[stream]));
    let (first, second) = stream.split_at(at);
    assert_eq!(heard(&[first, second]), whole);
    let each: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(heard(&each), whole);
}

/// Reads a file to import: cards, lorebooks, personas, presets, chats of other programs.
pub fn import(bytes: &[u8]) {
    let _ = card::read(bytes);
    let _ = lorebook::read(bytes);
    let _ = persona::read(bytes);
    let _ = preset::read(bytes);
    let _ = foreign_chat::read(bytes);
    for line in bytes.split(|byte| *byte == b'\n') {
        let _ = chat::read(line);
    }
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
