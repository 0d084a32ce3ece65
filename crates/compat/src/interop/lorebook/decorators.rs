//! Decorators of version 3: lines such as `@@depth 4` in the text of an entry. Those that this program can obey become
//! fields of the entry; all are taken out of the text, because no model should read them.
//!
//! A line with three `@` is a fallback for a decorator above it that cannot be obeyed.

use serde_json::{Map, Value};

use super::conversion::ConversionNotes;

/// The key in an entry's `extensions` for the lines that are not obeyed. An export writes them into the text again.
pub const EXTENSION_KEY: &str = "decorators";

/// The fields that decorators change.
pub const CHANGED_FIELDS: [&str; 16] = [
    "content",
    "position",
    "depth",
    "role",
    "scanDepth",
    "delay",
    "sticky",
    "cooldown",
    "keysecondary",
    "selective",
    "selectiveLogic",
    "constant",
    "probability",
    "useProbability",
    "matchWholeWords",
    "preventRecursion",
];

/// Decorators that are recognized in the middle of a text too. Other lines with `@@` there belong to the text.
const NAMES: [&str; 30] = [
    "activate_only_after",
    "activate_only_every",
    "keep_activate_after_match",
    "dont_activate_after_match",
    "depth",
    "instruct_depth",
    "reverse_depth",
    "reverse_instruct_depth",
    "role",
    "scan_depth",
    "instruct_scan_depth",
    "is_greeting",
    "position",
    "ignore_on_max_context",
    "additional_keys",
    "exclude_keys",
    "exclude_keys_all",
    "is_user_icon",
    "activate",
    "dont_activate",
    "disable_ui_prompt",
    "constant",
    "probability",
    "end",
    "match_full_word",
    "match_partial_word",
    "unrecursive",
    "recursive",
    "no_recursive_search",
    "priority",
];

/// How many messages an entry stays active or inactive that should do so for ever.
const FOR_EVER: u32 = 1_000_000;
/// The position of an entry between messages.
const AT_DEPTH: u32 = 4;

/// One line: its name, its value and whether it is a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LoreDecorator<'a> {
    line: &'a str,
    name: &'a str,
    value: &'a str,
    is_fallback: bool,
}

impl<'a> LoreDecorator<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let line = line.trim_end();
        let rest = line.strip_prefix("@@")?;
        let (rest, is_fallback) = rest.strip_prefix('@').map_or((rest, false), |rest| (rest, true));
        let rest = rest.trim_start();
        let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        Some(Self { line, name, value: value.trim(), is_fallback })
    }
}

/// Returns whether a text has decorators.
pub fn has_decorators(content: &str) -> bool {
    content.contains("@@") && !split(content).0.is_empty()
}

/// Splits the decorators from a text: all lines with `@@` at its beginning, and known ones below.
fn split(content: &str) -> (Vec<LoreDecorator<'_>>, String) {
    let (mut found, mut text, mut is_beginning) = (Vec::new(), Vec::new(), true);
    for line in content.split('\n') {
        let decorator = LoreDecorator::read(line).filter(|decorator| is_beginning || NAMES.contains(&decorator.name));
        match decorator {
            Some(decorator) => found.push(decorator),
            None if is_beginning && line.trim().is_empty() => {}
            None => {
                is_beginning = false;
                text.push(line);
            }
        }
    }
    if found.is_empty() {
        return (found, content.to_owned());
    }
    (found, text.join("\n"))
}

/// The decorators of one entry while they are applied.
#[derive(Default)]
struct AppliedDecorators<'a> {
    names: Vec<&'a str>,
    /// Lines that the scan of lorebooks obeys itself.
    activation: Vec<&'a str>,
    /// Lines without effect.
    ignored: Vec<&'a str>,
    depth: Option<u64>,
    role: Option<u32>,
    has_position: bool,
}

/// Turns the decorators of an entry of world info into its fields. Does nothing if it has none.
pub fn apply(entry: &mut Map<String, Value>, notes: &mut ConversionNotes) {
    let content = entry.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !has_decorators(&content) {
        return;
    }
    let (decorators, text) = split(&content);
    let mut state = AppliedDecorators::default();
    // A decorator with its fallbacks: the first one that can be obeyed counts.
    let mut rest = decorators.as_slice();
    while let Some((first, below)) = rest.split_first() {
        let fallbacks = below.iter().take_while(|decorator| decorator.is_fallback).count();
        let (group, after) = rest.split_at(fallbacks + 1);
        rest = after;
        // Nothing stands above a fallback at the beginning.
        let obeyed = group.iter().find(|one| !first.is_fallback && state.apply(one, entry));
        match obeyed {
            Some(one) => notes.decorator_applied(one.name),
            None => {
                notes.decorator_ignored(if first.name.is_empty() { first.line } else { first.name });
                state.ignored.extend(group.iter().map(|one| one.line));
            }
        }
    }
    state.finish(entry, notes, &text);
}

impl<'a> AppliedDecorators<'a> {
    /// Applies one decorator. Returns whether that is possible.
    fn apply(&mut self, one: &LoreDecorator<'a>, entry: &mut Map<String, Value>) -> bool {
        // Of two with one name, the first one counts.
        if self.names.contains(&one.name) {
            return false;
        }
        let number = one.value.parse::<f64>().ok().filter(|number| number.is_finite() && number.abs() < 1e6);
        let count = number.map(|number| format!("{:.0}", number.max(0.0)).parse::<u64>().unwrap_or_default());
        let mut set = |name: &str, value: Value| {
            entry.insert(name.to_owned(), value);
            true
        };
        let is_done = match (one.name, count) {
            ("depth", Some(depth)) => self.depth.get_or_insert(depth) == &depth,
            ("end", _) => self.depth.get_or_insert(0) == &0,
            ("role", _) => match one.value.to_ascii_lowercase().as_str() {
                "system" => self.role.replace(0).is_none(),
                "user" => self.role.replace(1).is_none(),
                "assistant" | "char" | "bot" => self.role.replace(2).is_none(),
                _ => false,
            },
            ("position", _) => match one.value {
                "before_desc" | "before_char" => set("position", 0.into()) && self.mark_position(),
                "after_desc" | "after_char" => set("position", 1.into()) && self.mark_position(),
                _ => false,
            },
            ("scan_depth", Some(count)) => set("scanDepth", count.into()),
            // It counts the messages of the character, and the field those of both sides.
            ("activate_only_after", Some(count)) => set("delay", count.saturating_mul(2).into()),
            ("keep_activate_after_match", _) => set("sticky", FOR_EVER.into()),
            ("dont_activate_after_match", _) => set("cooldown", FOR_EVER.into()),
            ("constant", _) => set("constant", (one.value != "false").into()),
            ("probability", Some(count)) => set("probability", count.into()) && set("useProbability", true.into()),
            ("match_full_word", _) => set("matchWholeWords", true.into()),
            ("match_partial_word", _) => set("matchWholeWords", false.into()),
            ("unrecursive" | "no_recursive_search", _) => set("preventRecursion", true.into()),
            ("additional_keys", _) => set_keys(entry, one.value, 0),
            ("exclude_keys", _) => set_keys(entry, one.value, 2),
            // Stopped by all of the keys together, so one that is missing is enough.
            ("exclude_keys_all", _) => set_keys(entry, one.value, 1),
            ("activate" | "dont_activate", _) => {
                self.activation.push(one.line.trim_start_matches('@'));
                true
            }
            _ => false,
        };
        if is_done {
            self.names.push(one.name);
        }
        is_done
    }

    const fn mark_position(&mut self) -> bool {
        self.has_position = true;
        true
    }

    /// Sets position, role and text of the entry.
    fn finish(self, entry: &mut Map<String, Value>, notes: &mut ConversionNotes, text: &str) {
        // A position wins over a depth.
        if let Some(depth) = self.depth.filter(|_| !self.has_position) {
            entry.insert("position".to_owned(), AT_DEPTH.into());
            entry.insert("depth".to_owned(), depth.into());
        }
        if let Some(role) = self.role {
            entry.insert("role".to_owned(), role.into());
            if entry.get("position").and_then(Value::as_u64) != Some(AT_DEPTH.into()) {
                notes.decorator_ignored("role");
            }
        }
        let mut lines: Vec<String> = Vec::new();
        if !text.trim().is_empty() {
            lines.extend(self.activation.iter().map(|name| format!("@@{name}")));
            lines.push(text.to_owned());
        }
        entry.insert("content".to_owned(), lines.join("\n").into());
        if !self.ignored.is_empty() {
            let kept: Vec<Value> = self.ignored.into_iter().map(Value::from).collect();
            let extensions = entry.entry("extensions").or_insert_with(|| Map::new().into());
            extensions.as_object_mut().map(|map| map.insert(EXTENSION_KEY.to_owned(), kept.into()));
        }
    }
}

/// Sets the secondary keys with their logic, unless the entry has some already.
fn set_keys(entry: &mut Map<String, Value>, value: &str, logic: u32) -> bool {
    let keys: Vec<Value> = value.split(',').map(str::trim).filter(|key| !key.is_empty()).map(Value::from).collect();
    let has_keys = match entry.get("keysecondary") {
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::String(text)) => !text.trim().is_empty(),
        _ => false,
    };
    if keys.is_empty() || has_keys {
        return false;
    }
    entry.insert("keysecondary".to_owned(), keys.into());
    entry.insert("selective".to_owned(), true.into());
    entry.insert("selectiveLogic".to_owned(), logic.into());
    true
}

/// Counts the decorators of an entry that the scan of lorebooks takes out of the text and does not obey.
pub fn note_ignored(entry: &Map<String, Value>, notes: &mut ConversionNotes) {
    let content = entry.get("content").and_then(Value::as_str).unwrap_or_default();
    let beginning = content.split('\n').map_while(LoreDecorator::read);
    for one in beginning.filter(|one| !one.is_fallback && !matches!(one.name, "activate" | "dont_activate")) {
        notes.decorator_ignored(if one.name.is_empty() { one.line } else { one.name });
    }
}

/// Returns the text of an entry for an export: with the decorators that an import took out without obeying them.
pub fn with_ignored(entry: &Map<String, Value>) -> Value {
    let content = entry.get("content").cloned().unwrap_or_else(|| "".into());
    let lines = entry.get("extensions").and_then(|extensions| extensions.get(EXTENSION_KEY)).and_then(Value::as_array);
    let lines: Vec<&str> = lines.into_iter().flatten().filter_map(Value::as_str).collect();
    match content.as_str() {
        Some(text) if !lines.is_empty() => format!("{}\n{text}", lines.join("\n")).into(),
        _ => content,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(content: &str) -> (Map<String, Value>, Vec<(&'static str, String)>) {
        let mut entry = Map::from_iter([("content".to_owned(), json!(content))]);
        let mut notes = ConversionNotes::default();
        apply(&mut entry, &mut notes);
        let told = notes.findings().into_iter().map(|finding| (finding.code, finding.args["names"].to_string()));
        (entry, told.collect())
    }

    #[test]
    fn lore_decorators_become_fields() {
        for (content, expected) in [
            ("@@depth 5\nOld.", json!({"content": "Old.", "position": 4, "depth": 5})),
            ("@@depth 5\r\n\r\nOld.", json!({"content": "Old.", "position": 4, "depth": 5})),
            ("@@depth -1\nOld.", json!({"content": "Old.", "position": 4, "depth": 0})),
            ("@@ depth 5\nOld.", json!({"content": "Old.", "position": 4, "depth": 5})),
            ("@@role assistant\n@@depth 2\nOld.", json!({"content": "Old.", "position": 4, "depth": 2, "role": 2})),
            ("@@position after_desc\n@@depth 2\nOld.", json!({"content": "Old.", "position": 1})),
            ("@@unheard_of 5\n@@@also_odd\n@@@depth 3\nOld.", json!({"content": "Old.", "position": 4, "depth": 3})),
            ("@@depth 1\n@@@depth 3\nOld.", json!({"content": "Old.", "position": 4, "depth": 1})),
            ("@@scan_depth 5\nOld.", json!({"content": "Old.", "scanDepth": 5})),
            ("@@activate_only_after 3\nOld.", json!({"content": "Old.", "delay": 6})),
            ("@@keep_activate_after_match\nOld.", json!({"content": "Old.", "sticky": 1_000_000})),
            ("@@dont_activate_after_match\nOld.", json!({"content": "Old.", "cooldown": 1_000_000})),
            ("@@constant\nOld.", json!({"content": "Old.", "constant": true})),
            (
                "@@exclude_keys bell, rope\nOld.",
                json!({"content": "Old.", "keysecondary": ["bell", "rope"], "selective": true, "selectiveLogic": 2}),
            ),
            (
                "@@exclude_keys_all bell, rope\nOld.",
                json!({"content": "Old.", "keysecondary": ["bell", "rope"], "selective": true, "selectiveLogic": 1}),
            ),
            (
                "@@additional_keys bell\nOld.",
                json!({"content": "Old.", "keysecondary": ["bell"], "selective": true, "selectiveLogic": 0}),
            ),
            ("@@activate\r\nOld.", json!({"content": "@@activate\nOld."})),
            ("@@dont_activate\nOld.", json!({"content": "@@dont_activate\nOld."})),
            ("@@depth 5\n@@role user", json!({"content": "", "position": 4, "depth": 5, "role": 1})),
            ("Old.\n@@depth 5\nIt creaks.", json!({"content": "Old.\nIt creaks.", "position": 4, "depth": 5})),
            ("Old.\n@@anna is here", json!({"content": "Old.\n@@anna is here"})),
            ("plain @@depth 5", json!({"content": "plain @@depth 5"})),
        ] {
            assert_eq!(Value::Object(applied(content).0), expected, "{content}");
        }
    }

    /// The decorators that RisuAI obeys: each becomes a field or is named, and none stays in the text of a model.
    #[test]
    fn lore_decorators_of_risuai_are_obeyed_or_named() {
        let kept = [
            "activate_only_every 2",
            "reverse_depth 2",
            "is_greeting 1",
            "position personality",
            "position scenario",
            "position pt_memory",
            "ignore_on_max_context",
            "disable_ui_prompt system_prompt",
            "priority 5",
            "recursive",
        ];
        let obeyed = [
            "end",
            "activate_only_after 2",
            "keep_activate_after_match",
            "dont_activate_after_match",
            "depth 2",
            "scan_depth 2",
            "position before_desc",
            "additional_keys a",
            "exclude_keys a",
            "exclude_keys_all a",
            "match_full_word",
            "match_partial_word",
            "activate",
            "dont_activate",
            "probability 50",
            "unrecursive",
            "no_recursive_search",
        ];
        for (lines, code) in [(&kept[..], "decorators_kept"), (&obeyed[..], "decorators")] {
            for line in lines {
                let (entry, told) = applied(&format!("@@{line}\nOld."));
                let name = json!(line.split(' ').next()).to_string();
                assert_eq!(told, [(code, name)], "{line}");
                assert!(line.contains("activate") || entry["content"] == "Old.", "{line}");
                // They are also known below other text.
                assert!(has_decorators(&format!("Old.\n@@{line}")), "{line}");
            }
        }
    }

    #[test]
    fn lore_decorators_without_effect_are_reported_and_leave_the_text() {
        for line in [
            "@@activate_only_every 5",
            "@@is_greeting 1",
            "@@position personality",
            "@@ignore_on_max_context",
            "@@depth deep",
            "@@unheard_of",
            "@@@depth 3",
        ] {
            let (entry, told) = applied(&format!("{line}\nOld."));
            let expected = json!({"content": "Old.", "extensions": {"decorators": [line]}});
            assert_eq!(Value::Object(entry.clone()), expected);
            assert_eq!(told.len(), 1, "{line}");
            assert_eq!(told[0].0, "decorators_kept", "{line}");
            assert_eq!(with_ignored(&entry), format!("{line}\nOld."));
        }
        let (_, told) = applied("@@depth 2\n@@role user\n@@role system\n@@is_greeting 1\nOld.");
        let names = |names: &str| json!(names).to_string();
        assert_eq!(told, [("decorators", names("depth, role")), ("decorators_kept", names("role, is_greeting"))]);
        assert_eq!(applied("@@role user\nOld.").1[1].0, "decorators_kept", "a role needs a depth");
    }
}
