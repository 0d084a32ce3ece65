//! One parsed world info entry.

use serde_json::{Map, Value};

use super::key_list::read_keys;
use super::keys::LoreKey;
use super::lenient_values::{count, integer, is_truthy, optional_bool, text, texts, to_number};
use super::title_labels::TitleLabels;
use super::verdict::{LoreReason, LoreVerdict};
use clotho_core::world::{Condition, ConditionError};

/// Largest message count, depth or level.
const MAX_NUMBER: u32 = 1_000_000;
/// Largest number of keys of one entry; others are ignored.
pub(super) const MAX_KEYS: usize = 10_000;

/// Where an entry's text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LorePosition {
    /// Before the character description.
    Before,
    /// After the character description.
    After,
    /// Above the author's note.
    NoteTop,
    /// Below the author's note.
    NoteBottom,
    /// Between history messages, at a depth.
    AtDepth,
    /// Before the example dialogue.
    ExamplesTop,
    /// After the example dialogue.
    ExamplesBottom,
    /// Where an outlet macro asks for it.
    Outlet,
}

impl LorePosition {
    fn read(value: Option<&Value>) -> Option<Self> {
        const ALL: [LorePosition; 8] = [
            LorePosition::Before,
            LorePosition::After,
            LorePosition::NoteTop,
            LorePosition::NoteBottom,
            LorePosition::AtDepth,
            LorePosition::ExamplesTop,
            LorePosition::ExamplesBottom,
            LorePosition::Outlet,
        ];
        let place = integer(value.filter(|value| !value.is_boolean()), MAX_NUMBER)?;
        ALL.get(usize::try_from(place).ok()?).copied()
    }
}

/// How secondary keys must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectiveLogic {
    /// At least one matches.
    AnyOf,
    /// At least one does not match.
    NotAll,
    /// None matches.
    NoneOf,
    /// All match.
    AllOf,
}

/// A filter for characters.
#[derive(Debug, Clone, Default)]
pub struct CharacterFilter {
    /// The filter lists the excluded characters.
    excludes: bool,
    names: Vec<String>,
    tags: Vec<String>,
}

impl CharacterFilter {
    fn read(value: Option<&Value>) -> Self {
        let Some(filter) = value.and_then(Value::as_object) else { return Self::default() };
        Self {
            excludes: is_truthy(filter.get("isExclude")),
            names: texts(filter.get("names")),
            tags: texts(filter.get("tags")),
        }
    }

    /// Returns whether a character passes: the name list and the tag list must both allow it.
    pub fn allows(&self, file: &str, tags: &[String]) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|name| name == file) != self.excludes;
        let tagged = self.tags.is_empty() || self.tags.iter().any(|tag| tags.contains(tag)) != self.excludes;
        named && tagged
    }
}

/// A parsed entry.
#[derive(Debug)]
pub struct LorebookEntry {
    /// Identifier within its book.
    pub uid: String,
    /// Title from the author (`comment`).
    pub title: String,
    /// Labels in the title, such as `[mvu_update]`.
    pub labels: TitleLabels,
    /// Text without decorator lines.
    pub content: String,
    /// Decorator that forces the entry on or off.
    pub forced_activation: Option<bool>,
    pub(super) keys: Vec<LoreKey>,
    pub(super) secondary: Vec<LoreKey>,
    /// `None` = secondary keys are ignored.
    pub(super) logic: Option<SelectiveLogic>,
    /// The logic as written, even if secondary keys are ignored; used for group scores only.
    pub(super) written_logic: SelectiveLogic,
    pub(super) constant: bool,
    /// Higher orders use up the budget first and stand nearer to the end of the prompt.
    pub order: f64,
    pub(super) disabled: bool,
    /// `None` = the text goes nowhere.
    pub position: Option<LorePosition>,
    pub(super) depth: Option<i64>,
    pub(super) role: u8,
    pub(super) outlet: String,
    pub(super) probability: Option<f64>,
    pub(super) excludes_recursion: bool,
    pub(super) prevents_recursion: bool,
    /// Recursion level that it waits for; 0 = none.
    pub(super) recursion_delay: i64,
    pub(super) group: String,
    pub(super) groups: Vec<String>,
    pub(super) has_priority: bool,
    pub(super) weight: f64,
    pub(super) scoring: Option<bool>,
    pub(super) scan_depth: Option<i64>,
    pub(super) case_sensitive: Option<bool>,
    pub(super) whole_words: Option<bool>,
    pub(super) sticky: u64,
    pub(super) cooldown: u64,
    pub(super) delay: u64,
    /// Card texts that it scans, in the order of [`super::CARD_TEXTS`].
    pub(super) scanned_card_texts: [bool; 6],
    pub(super) triggers: Vec<String>,
    pub(super) ignores_budget: bool,
    pub(super) filter: CharacterFilter,
    pub(super) condition: Option<Result<Condition, ConditionError>>,
    /// It may match by content, without a key.
    pub(super) is_vectorized: bool,
    /// Hash of the entry, to detect changes; empty without sticky and cooldown.
    pub(super) hash: String,
}

impl LorebookEntry {
    /// Returns the verdict of an entry for which no key matched.
    pub fn silent_verdict(&self, book: &str) -> LoreVerdict {
        let why = if self.disabled { LoreReason::Disabled } else { LoreReason::NoKey };
        LoreVerdict { book: book.to_owned(), uid: self.uid.clone(), title: self.title.clone(), why }
    }

    /// Returns whether it is disabled.
    pub const fn is_off(&self) -> bool {
        self.disabled
    }

    /// Returns whether it may match by content: it is vectorized, or the settings allow all entries.
    pub fn may_match_content(&self, all: bool) -> bool {
        (self.is_vectorized || all) && !self.disabled && !self.content.trim().is_empty()
    }

    /// Reads an entry. Missing or invalid fields get their defaults.
    pub fn read(uid: String, entry: &Map<String, Value>) -> Self {
        let get = |key: &str| entry.get(key);
        let (forced_activation, content) = take_decorators(text(entry, "content"));
        let group = text(entry, "group").to_owned();
        let lasting = |key: &str| count(get(key), MAX_NUMBER).unwrap_or(0);
        let (sticky, cooldown) = (lasting("sticky"), lasting("cooldown"));
        Self {
            uid,
            labels: TitleLabels::read(text(entry, "comment")),
            title: text(entry, "comment").to_owned(),
            content,
            forced_activation,
            keys: keys(get("key")),
            secondary: keys(get("keysecondary")),
            logic: logic(entry),
            written_logic: written_logic(entry),
            constant: is_truthy(get("constant")),
            order: to_number(get("order")).unwrap_or(100.0),
            disabled: is_truthy(get("disable")),
            position: LorePosition::read(get("position")),
            depth: integer(get("depth"), MAX_NUMBER),
            role: integer(get("role"), 2).and_then(|role| u8::try_from(role).ok()).unwrap_or(0),
            outlet: text(entry, "outletName").trim().to_owned(),
            probability: is_truthy(get("useProbability")).then(|| to_number(get("probability")).unwrap_or(100.0)),
            excludes_recursion: is_truthy(get("excludeRecursion")),
            prevents_recursion: is_truthy(get("preventRecursion")),
            recursion_delay: integer(get("delayUntilRecursion"), MAX_NUMBER).unwrap_or(0),
            groups: groups(&group),
            group,
            has_priority: is_truthy(get("groupOverride")),
            weight: to_number(get("groupWeight")).unwrap_or(100.0),
            scoring: optional_bool(get("useGroupScoring")),
            scan_depth: integer(get("scanDepth"), MAX_NUMBER),
            case_sensitive: optional_bool(get("caseSensitive")),
            whole_words: optional_bool(get("matchWholeWords")),
            sticky,
            cooldown,
            delay: lasting("delay"),
            scanned_card_texts: CARD_TEXT_FIELDS.map(|key| is_truthy(get(key))),
            triggers: texts(get("triggers")),
            ignores_budget: is_truthy(get("ignoreBudget")),
            filter: CharacterFilter::read(get("characterFilter")),
            condition: condition(get("when")),
            is_vectorized: is_truthy(get("vectorized")),
            hash: if sticky > 0 || cooldown > 0 { hash(entry) } else { String::new() },
        }
    }
}

/// JSON fields that select the card texts to scan.
const CARD_TEXT_FIELDS: [&str; 6] = [
    "matchPersonaDescription",
    "matchCharacterDescription",
    "matchCharacterPersonality",
    "matchCharacterDepthPrompt",
    "matchScenario",
    "matchCreatorNotes",
];

/// Returns whether an entry has more keys than [`MAX_KEYS`].
pub(super) fn has_more_keys(entry: &Map<String, Value>) -> bool {
    let is_long = |value: &&Value| {
        value.as_array().is_some_and(|list| list.len() > MAX_KEYS || list.iter().any(Value::is_array))
            || value.as_object().is_some_and(|map| map.len() > MAX_KEYS)
            || value.as_str().is_some_and(|text| text.len() > MAX_KEYS)
    };
    let lists = ["key", "keysecondary"].into_iter().filter_map(|name| entry.get(name));
    lists.filter(is_long).any(|list| read_keys(Some(list)).len() > MAX_KEYS)
}

fn keys(value: Option<&Value>) -> Vec<LoreKey> {
    read_keys(value).into_iter().take(MAX_KEYS).map(LoreKey::new).collect()
}

/// Returns the logic of the secondary keys; `None` unless the entry is selective and has some.
fn logic(entry: &Map<String, Value>) -> Option<SelectiveLogic> {
    let has_others = match entry.get("keysecondary") {
        Some(Value::Array(keys)) => !keys.is_empty(),
        others => !read_keys(others).is_empty(),
    };
    if !is_truthy(entry.get("selective")) || !has_others {
        return None;
    }
    Some(written_logic(entry))
}

fn written_logic(entry: &Map<String, Value>) -> SelectiveLogic {
    match integer(entry.get("selectiveLogic"), MAX_NUMBER) {
        Some(1) => SelectiveLogic::NotAll,
        Some(2) => SelectiveLogic::NoneOf,
        Some(3) => SelectiveLogic::AllOf,
        _ => SelectiveLogic::AnyOf,
    }
}

fn groups(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn hash(entry: &Map<String, Value>) -> String {
    let bytes = serde_json::to_vec(entry).unwrap_or_default();
    blake3::hash(&bytes).to_hex().chars().take(16).collect()
}

const ACTIVATE_DECORATOR: &str = "@@activate";
const DONT_ACTIVATE_DECORATOR: &str = "@@dont_activate";

/// Splits the leading decorator lines from a text. Returns whether they force the entry on or off (both: on), and the
/// rest.
///
/// A line with a third `@` is a fallback for an unknown decorator just before it. A text of decorators only is
/// unchanged.
fn take_decorators(content: &str) -> (Option<bool>, String) {
    if !content.starts_with("@@") {
        return (None, content.to_owned());
    }
    let (mut on, mut off, mut was_unknown) = (false, false, false);
    let mut rest = content;
    let text = loop {
        let (line, after) = rest.split_once('\n').map_or((rest, None), |(line, after)| (line, Some(after)));
        if !line.starts_with("@@") {
            break rest;
        }
        let stand_in = line.strip_prefix('@').filter(|line| line.starts_with("@@"));
        if stand_in.is_none() || was_unknown {
            let said = stand_in.unwrap_or(line);
            on |= said == ACTIVATE_DECORATOR;
            off |= said == DONT_ACTIVATE_DECORATOR;
            was_unknown = !said.starts_with(ACTIVATE_DECORATOR) && !said.starts_with(DONT_ACTIVATE_DECORATOR);
        }
        match after {
            Some(after) => rest = after,
            None => break content,
        }
    };
    ((on || off).then_some(on), text.to_owned())
}

/// Parses the condition of an entry. A value that is not a string is an error.
fn condition(when: Option<&Value>) -> Option<Result<Condition, ConditionError>> {
    match when? {
        Value::Null => None,
        Value::String(when) if when.trim().is_empty() => None,
        Value::String(when) => Some(Condition::parse(when)),
        _ => Some(Err(ConditionError::NotText {})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lore_entry_decorators_are_read() {
        for (content, force, rest) in [
            ("plain", None, "plain"),
            ("@@activate\ntext", Some(true), "text"),
            ("@@dont_activate\n@@activate\ntext", Some(true), "text"),
            ("@@dont_activate\ntext\n@@activate", Some(false), "text\n@@activate"),
            ("@@odd 5\n@@@activate\ntext", Some(true), "text"),
            ("@@@activate\ntext", None, "text"),
            ("@@activated\n@@@activate\ntext", None, "text"),
            ("@@activate", Some(true), "@@activate"),
            ("@@", None, "@@"),
        ] {
            assert_eq!(take_decorators(content), (force, rest.to_owned()), "{content}");
        }
    }

    /// Bad input: any JSON object gives an entry.
    #[test]
    fn lore_entry_invalid_values_use_defaults() {
        let entry = serde_json::json!({
            "key": "one, two", "keysecondary": 7, "content": null, "order": "12", "position": 99, "depth": 1e300,
            "role": -5, "probability": {}, "group": ["x"], "sticky": -3, "cooldown": "4", "scanDepth": true,
            "characterFilter": [], "when": "a >=", "delayUntilRecursion": true, "triggers": "normal",
        });
        let entry = LorebookEntry::read("1".into(), entry.as_object().unwrap());
        assert_eq!((entry.keys.len(), entry.secondary.len(), entry.logic), (2, 1, None));
        assert_eq!((entry.order, entry.position, entry.depth, entry.role), (12.0, None, Some(1_000_000), 0));
        assert_eq!((entry.sticky, entry.cooldown, entry.recursion_delay), (0, 4, 1));
        assert!(entry.condition.is_some_and(|when| when.is_err()) && entry.filter.allows("", &[]));
        for odd in [Value::from(5), true.into(), vec!["x > 1"].into(), Map::new().into()] {
            assert!(condition(Some(&odd)).is_some_and(|when| when.is_err()), "{odd}");
        }
        assert!(condition(Some(&" ".into())).is_none() && condition(Some(&Value::Null)).is_none());
    }
}
