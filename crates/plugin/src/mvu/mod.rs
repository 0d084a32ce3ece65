//! The MVU dialect: commands that a model writes into its reply to change variables, as most existing cards expect
//! (`docs/modders.md`). They are parsed and never evaluated, because a model's text is not code.
//!
//! `_.set('a.b', 1);//why` and `<JSONPatch>[{"op": "delta", "path": "/a/b", "value": 1}]</JSONPatch>` both become
//! `MvuCommand`s in text order. An invalid command is skipped with a reason; the others still apply.
//!
//! - `commands.rs` parses the calls, `patch.rs` the patches, `value.rs` the relaxed values in them, `arithmetic.rs` the
//!   sums in these.
//! - `replay.rs` applies the commands of imported chats; `init_vars.rs` parses initial values, also in
//!   TOML by `toml_values.rs`.
//! - `path_repair.rs` corrects misspelled paths, `meta.rs` reads what cards say about their maps.
//! - `value_updates.rs` applies the commands of a values model for plugins that read none themselves.

mod arithmetic;
mod commands;
mod init_vars;
mod meta;
mod patch;
mod path_repair;
mod replay;
mod toml_values;
mod value;
mod value_updates;

use std::fmt;

use serde_json::{Map, Value};

use clotho_core::world::Pointer;

pub use init_vars::{InitVarText, initial_value_problems, omitted_initial_values, unreadable_initial_values};
pub(super) use init_vars::{initial_values, leaf_values};
pub(super) use path_repair::repair_paths;
pub use replay::{MvuReplay, replay};
pub use value_updates::{MvuChanges, MvuTarget, apply_commands, count_commands};

/// The operation of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MvuOp {
    Set,
    Add,
    Insert,
    Remove,
    Move,
}

impl MvuOp {
    fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Add => "add",
            Self::Insert => "insert",
            Self::Remove => "remove",
            Self::Move => "move",
        }
    }
}

/// One command. Paths have the form of scripts: `rin/affinity`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MvuCommand {
    pub(super) op: MvuOp,
    pub(super) path: String,
    /// The key or position inside the value at the path; an insert without one appends.
    pub(super) key: Option<String>,
    pub(super) value: Option<Value>,
    /// The source path of a move.
    pub(super) from: Option<String>,
    pub(super) reason: String,
}

impl MvuCommand {
    /// Returns the target below a root.
    pub(super) fn pointer(&self, root: &Pointer) -> Pointer {
        replay::pointer_below(root, &self.path)
    }

    /// Returns the form that scripts see. Absent fields are left out, except `value` and `reason`.
    pub(super) fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("op".to_owned(), self.op.as_str().into());
        map.insert("path".to_owned(), self.path.clone().into());
        map.insert("value".to_owned(), self.value.clone().unwrap_or(Value::Null));
        map.insert("reason".to_owned(), self.reason.clone().into());
        for (name, text) in [("key", &self.key), ("from", &self.from)] {
            if let Some(text) = text {
                map.insert(name.to_owned(), text.clone().into());
            }
        }
        Value::Object(map)
    }
}

/// A command that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkippedCommand {
    /// The first characters of the command.
    text: String,
    why: &'static str,
}

impl SkippedCommand {
    fn new(text: &str, why: &'static str) -> Self {
        let own = text.split_inclusive([';', '\n']).next().unwrap_or_default().trim_end();
        Self { text: own.chars().take(80).collect(), why }
    }
}

impl fmt::Display for SkippedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "skipped \"{}\": {}", self.text, self.why)
    }
}

/// The commands found in a text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ParsedCommands {
    pub(super) commands: Vec<MvuCommand>,
    pub(super) skipped: Vec<SkippedCommand>,
}

impl ParsedCommands {
    fn push(&mut self, result: Result<MvuCommand, SkippedCommand>) {
        match result {
            Ok(command) => self.commands.push(command),
            Err(skipped) => self.skipped.push(skipped),
        }
    }

    fn len(&self) -> usize {
        self.commands.len() + self.skipped.len()
    }
}

const PATCH_TAGS: [&str; 2] = ["JSONPatch", "json_patch"];
/// Blocks of reasoning; commands inside them are ignored.
const REASONING_TAGS: [&str; 13] = [
    "Analysis",
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "scratchpad",
    "cot",
    "思考",
    "思考过程",
    "思维链",
    "推理",
];
/// All tags of blocks that contain commands.
const UPDATE_TAGS: [&str; 3] = ["UpdateVariable", "JSONPatch", "json_patch"];

/// Parses the commands of a text in order, up to `most`.
pub(super) fn parse(text: &str, most: usize) -> ParsedCommands {
    let mut parsed = ParsedCommands::default();
    let thoughtless = REASONING_TAGS.iter().fold(text.to_owned(), |text, tag| strip_closed_blocks(&text, tag));
    let mut rest = thoughtless.as_str();
    while parsed.len() < most {
        let Some(block) = first_block(rest, &["UpdateVariable"]) else { break };
        split_patches(rest.get(..block.start).unwrap_or_default(), most, &mut parsed, commands::parse_calls);
        split_patches(rest.get(block.inside.clone()).unwrap_or_default(), most, &mut parsed, parse_update_block);
        rest = rest.get(block.end..).unwrap_or_default();
    }
    split_patches(rest, most, &mut parsed, commands::parse_calls);
    parsed
}

/// Parses patches, and calls `between` for the text between them.
fn split_patches(text: &str, most: usize, parsed: &mut ParsedCommands, between: fn(&str, usize, &mut ParsedCommands)) {
    let mut rest = text;
    while parsed.len() < most {
        let patch = first_block(rest, &PATCH_TAGS);
        let until = patch.as_ref().map_or(rest.len(), |block| block.start);
        between(rest.get(..until).unwrap_or_default(), most, parsed);
        let Some(block) = patch else { break };
        patch::parse_patch(rest.get(block.inside.clone()).unwrap_or_default(), most, parsed);
        rest = rest.get(block.end..).unwrap_or_default();
    }
}

/// Parses the content of an update block: calls, and patches without a tag of their own.
fn parse_update_block(text: &str, most: usize, parsed: &mut ParsedCommands) {
    let mut rest = text;
    while let Some(at) = patch::find_bare_patch(rest).filter(|_| parsed.len() < most) {
        let (before, patch) = rest.split_at(at);
        commands::parse_calls(before, most, parsed);
        rest = patch::parse_bare_patch(patch, most, parsed);
    }
    commands::parse_calls(rest, most, parsed);
}

fn first_block(text: &str, tags: &[&str]) -> Option<MvuBlock> {
    tags.iter().filter_map(|tag| find_block(text, tag)).min_by_key(|block| block.start)
}

/// Returns the text without its commands and without the blocks that contain them.
pub fn without_commands(text: &str) -> String {
    let bare = UPDATE_TAGS.iter().fold(text.to_owned(), |text, tag| strip_blocks(&text, tag));
    commands::remove_calls(&bare)
}

/// Returns the content of the first `<tag>…</tag>`. An unclosed block extends to the end of the text, because models
/// may stop in the middle.
pub(super) fn first_block_text<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    find_block(text, tag).and_then(|block| text.get(block.inside))
}

/// Returns the text without its `<tag>…</tag>` blocks.
pub(super) fn strip_blocks(text: &str, tag: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(block) = find_block(rest, tag) {
        out.push_str(rest.get(..block.start).unwrap_or_default());
        rest = rest.get(block.end..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Returns the text without its closed `<tag>…</tag>` blocks; an unclosed one stays.
fn strip_closed_blocks(text: &str, tag: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(block) = find_block(rest, tag).filter(|block| block.end > block.inside.end) {
        out.push_str(rest.get(..block.start).unwrap_or_default());
        rest = rest.get(block.end..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

struct MvuBlock {
    start: usize,
    inside: std::ops::Range<usize>,
    end: usize,
}

/// Finds a block by its tag, ignoring ASCII case.
fn find_block(text: &str, tag: &str) -> Option<MvuBlock> {
    let opening = find_ignoring_case(text, &format!("<{tag}>"), 0)?;
    let closing = find_ignoring_case(text, &format!("</{tag}>"), opening.end);
    let inside_end = closing.as_ref().map_or(text.len(), |closing| closing.start);
    let end = closing.map_or(text.len(), |closing| closing.end);
    Some(MvuBlock { start: opening.start, inside: opening.end..inside_end, end })
}

fn find_ignoring_case(text: &str, wanted: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes().get(from..)?;
    let at = bytes.windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))?;
    let start = from + at;
    // Equal except for ASCII case, so both ends are character boundaries.
    Some(start..start + wanted.len())
}

/// Joins unescaped keys to a path, without MVU's root `stat_data`.
fn join_path(keys: &[String]) -> Option<String> {
    let keys = match keys.split_first() {
        Some((first, rest)) if first == "stat_data" => rest,
        _ => keys,
    };
    let escaped: Vec<String> = keys.iter().map(|key| key.replace('~', "~0").replace('/', "~1")).collect();
    (!escaped.is_empty()).then(|| escaped.join("/"))
}

/// Splits `a.b[0]["c d"]` into keys; `None` if the brackets do not close.
fn parse_lodash_path(path: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut rest = path.trim();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = bracket_key(inner)?;
            keys.push(key.to_owned());
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (key, after) = rest.split_at(end);
            keys.push(key.to_owned());
            rest = after.strip_prefix('.').unwrap_or(after);
        }
    }
    let named = keys.iter().all(|key| !key.is_empty() && !key.contains('\0'));
    (named && keys.len() <= 31).then_some(keys)
}

/// Returns the key of `key]`, `"key"]` or `'key']`, and the rest.
fn bracket_key(inner: &str) -> Option<(&str, &str)> {
    let quoted = inner.trim_start();
    if let Some(quote) = quoted.chars().next().and_then(value::closing_quote) {
        let key_and_rest = quoted.get(quoted.chars().next()?.len_utf8()..)?.split_once(quote);
        if let Some((key, rest)) = key_and_rest
            && let Some(after) = rest.trim_start().strip_prefix(']')
        {
            return Some((key, after));
        }
    }
    let (key, after) = inner.split_once(']')?;
    Some((key.trim().trim_matches(['"', '\'', '`']), after))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parse_commands(text: &str) -> Vec<Value> {
        parse(text, 500).commands.iter().map(MvuCommand::to_json).collect()
    }

    #[test]
    fn mvu_parse_calls_and_patches_keep_text_order() {
        let text = "<UpdateVariable><Analysis>she smiles</Analysis>\n_.set('rin.mood', 'calm', 'glad');//smiled\n\
            <JSONPatch>```json\n[{\"op\": \"delta\", \"path\": \"/rin/affinity\", \"value\": 3},]\n```</JSONPatch>\n\
            _.add(\"rin.affinity\", 2); // again\n</UpdateVariable>";
        assert_eq!(
            parse_commands(text),
            [
                json!({"op": "set", "path": "rin/mood", "value": "glad", "reason": "smiled"}),
                json!({"op": "add", "path": "rin/affinity", "value": 3, "reason": ""}),
                json!({"op": "add", "path": "rin/affinity", "value": 2, "reason": "again"}),
            ]
        );
    }

    /// Plugins 3.1: patches without a tag are read only inside update blocks; reasoning is never read.
    #[test]
    fn mvu_parse_reads_bare_patches_and_skips_reasoning() {
        let op = "[{\"op\": \"delta\", \"path\": \"/a\", \"value\": 1},\n{\"op\": \"replace\", \"path\": \"/b\", \"value\": {\"c\": 2}}]";
        let fenced = format!(
            "x<UpdateVariable><Analysis>_.set('z', 1);</Analysis>\n```json\n{op}\n```\n_.set('d', {{e: 3}});</UpdateVariable>"
        );
        let paths = |text: &str| {
            parse_commands(text).iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(paths(&fenced), ["a", "b", "d"]);
        assert_eq!(paths(&format!("<updatevariable>{op}")), ["a", "b"]);
        assert_eq!(paths(&format!("She writes {op}")), [""; 0]);
        assert_eq!(paths("<UpdateVariable>_.set('a',\n[{\"op\": 1, \"path\": 2}]);\n</UpdateVariable>"), ["a"]);
        assert_eq!(without_commands("a _.b <JSONPatch>[]</JSONPatch>_.add('x', 1);//y\nc"), "a _.b \nc");
    }

    #[test]
    fn mvu_block_any_case_or_unclosed_is_found() {
        assert_eq!(first_block_text("a <Note>b</note> c", "note"), Some("b"));
        assert_eq!(first_block_text("a <note>b", "note"), Some("b"));
        assert_eq!(first_block_text("a", "note"), None);
        assert_eq!(strip_blocks("a<x>1</x>b<X>2</X>c<x>3", "x"), "abc");
        assert_eq!(strip_blocks("猫<x>犬</x>鳥", "x"), "猫鳥");
    }

    #[test]
    fn mvu_lodash_paths_are_parsed() {
        let check = |path: &str, keys: &str| {
            assert_eq!(parse_lodash_path(path).and_then(|keys| join_path(&keys)).unwrap(), keys)
        };
        check("a.b[0][\"c d\"].e", "a/b/0/c d/e");
        check("stat_data.理.好感度", "理/好感度");
        check("a['x/y']", "a/x~1y");
        check("a['x.y'].z", "a/x.y/z");
        check("a[ \"x]y\" ]", "a/x]y");
        for bad in ["", "a[0", "a..b", "stat_data"] {
            assert_eq!(parse_lodash_path(bad).and_then(|keys| join_path(&keys)), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn mvu_parse_random_text_never_panics(text in "(_\\.(set|add|insert|x)\\(|['\"`,;)\\]\\[{}:\\\\]|<JSONPatch>|</JSONPatch>|/a|op|[a-z0-9猫]|\\n){0,60}") {
            let parsed = parse(&text, 20);
            prop_assert!(parsed.len() <= 20);
            prop_assert!(strip_blocks(&text, "JSONPatch").len() <= text.len());
        }

        #[test]
        fn mvu_parse_value_roundtrip_is_lossless(n: i64, word in "[a-zA-Z ']{0,12}") {
            let value = json!({"n": n, "list": [word, null, true, 0.5]});
            let read = parse_commands(&format!("_.set('a.b', {value});//why"));
            prop_assert_eq!(&read, &[json!({"op": "set", "path": "a/b", "value": value, "reason": "why"})]);
        }
    }
}
