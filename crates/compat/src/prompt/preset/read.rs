//! Reads a preset: one flat object of settings, `prompts[]` and `prompt_order[]`. Missing fields get default values.

use serde_json::{Map, Value};

use super::samplers::samplers;
use super::setting_values::{integer, truth};
use super::{
    ChatPosition, Preset, PresetExtensions, PresetPart, PresetSettings, PromptLayout, PromptShares, SpeakerNaming,
};
use clotho_core::tree::Role;

/// Id of the list in `prompt_order` that is used.
pub(super) const ORDER_CHARACTER_ID: i64 = 100_001;
/// Id of that list in older versions of SillyTavern.
const OLD_ORDER_CHARACTER_ID: i64 = 100_000;
/// Default parts that stand before the history in an arranged preset.
const BEFORE_HISTORY: [&str; 7] = [
    "worldInfoBefore",
    "personaDescription",
    "charDescription",
    "charPersonality",
    "scenario",
    "worldInfoAfter",
    "dialogueExamples",
];
/// Largest number of parts.
const MAX_PARTS: usize = 10_000;

/// Default parts in default order: id, text (`None` = a marker), enabled.
pub(super) const DEFAULT_PARTS: [(&str, Option<&str>, bool); 12] = [
    ("main", Some(DEFAULT_MAIN), true),
    ("worldInfoBefore", None, true),
    ("personaDescription", None, true),
    ("charDescription", None, true),
    ("charPersonality", None, true),
    ("scenario", None, true),
    ("enhanceDefinitions", Some("Draw on everything that you know of {{char}} beyond what is said here."), false),
    ("nsfw", Some(""), true),
    ("worldInfoAfter", None, true),
    ("dialogueExamples", None, true),
    ("chatHistory", None, true),
    ("jailbreak", Some(""), true),
];
/// Display names of the default parts.
const DEFAULT_PART_NAMES: [(&str, &str); 12] = [
    ("main", "Main"),
    ("worldInfoBefore", "Lore before the character"),
    ("personaDescription", "Persona"),
    ("charDescription", "Description of the character"),
    ("charPersonality", "Personality of the character"),
    ("scenario", "Scenario"),
    ("enhanceDefinitions", "What else is known of the character"),
    ("nsfw", "Further instructions"),
    ("worldInfoAfter", "Lore after the character"),
    ("dialogueExamples", "Examples"),
    ("chatHistory", "History"),
    ("jailbreak", "Last word"),
];
/// System prompt if neither preset nor card has one.
pub const DEFAULT_MAIN: &str = "Write {{char}}'s next reply in a story that {{char}} and {{user}} tell together. Stay in \
                        character, describe what can be seen and heard, and never speak for {{user}}.";
/// Impersonation prompt of the built-in preset.
const DEFAULT_IMPERSONATION: &str = "[Write the next message of {{user}}: what {{user}} says and does, in the voice and form of \
                             {{user}}'s messages so far. Leave what {{char}} and everybody else say or do to them. \
                             Answer with that message and nothing else.]";
/// Order of the built-in preset: the most stable parts come first.
const BUILT_IN_ORDER: [&str; 10] = [
    "main",
    "worldInfoBefore",
    "charDescription",
    "charPersonality",
    "scenario",
    "worldInfoAfter",
    "personaDescription",
    "dialogueExamples",
    "chatHistory",
    "jailbreak",
];

/// Why a file is no preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetReadError {
    /// It has neither parts nor settings.
    #[error("neither `prompts` nor a setting of a chat-completion preset is in it")]
    NoPreset,
    /// It has too many parts.
    #[error("it has {0} parts, and {MAX_PARTS} are the most")]
    TooMany(usize),
}

impl Default for PresetSettings {
    fn default() -> Self {
        let text = |text: &str| text.to_owned();
        Self {
            context: None,
            reply: None,
            naming: SpeakerNaming::Others,
            send_if_empty: String::new(),
            impersonation: text(
                "Write {{user}}'s next message, in {{user}}'s own voice and from {{user}}'s point of view. Never speak for {{char}}.",
            ),
            new_chat: text("[The story begins here]"),
            new_example: text("[An example of how it is told]"),
            continue_nudge: text("[Go on from where the last message stops, without saying any of it again.]"),
            lore_format: text("{0}"),
            scenario_format: text("{{scenario}}"),
            personality_format: text("{{personality}}"),
            prefill: String::new(),
            impersonation_prefill: String::new(),
            continue_prefill: false,
            squash: false,
            layout: PromptLayout::Parts,
        }
    }
}

impl Default for Preset {
    /// Returns the preset for a file without any fields.
    fn default() -> Self {
        let order = DEFAULT_PARTS.iter().map(|(id, _, is_on)| ((*id).to_owned(), *is_on)).collect();
        let mut preset = Self {
            settings: PresetSettings::default(),
            order,
            parts: Vec::new(),
            samplers: Map::new(),
            scripts: Vec::new(),
            extensions: PresetExtensions::default(),
        };
        preset.add_default_parts();
        preset
    }
}

impl Preset {
    /// Returns the built-in preset, used if the user chose none.
    pub fn built_in() -> Self {
        let settings = PresetSettings {
            impersonation: DEFAULT_IMPERSONATION.to_owned(),
            new_chat: String::new(),
            new_example: String::new(),
            scenario_format: String::new(),
            personality_format: String::new(),
            continue_prefill: true,
            naming: SpeakerNaming::AsNeeded,
            layout: PromptLayout::Turns,
            ..PresetSettings::default()
        };
        let order = BUILT_IN_ORDER.iter().map(|id| ((*id).to_owned(), true)).collect();
        Self { settings, order, ..Self::default() }
    }

    /// Reads a preset.
    ///
    /// # Errors
    /// Returns an error if the file is no preset or has too many parts.
    pub fn read(map: &Map<String, Value>) -> Result<Self, PresetReadError> {
        let list = |key: &str| map.get(key).and_then(Value::as_array);
        if list("prompts").is_none() && !map.keys().any(|key| key.starts_with("openai_") || key == "new_chat_prompt") {
            return Err(PresetReadError::NoPreset);
        }
        let prompts = list("prompts").map(Vec::as_slice).unwrap_or_default();
        if prompts.len() > MAX_PARTS {
            return Err(PresetReadError::TooMany(prompts.len()));
        }
        let scripts = map.get("extensions").and_then(|extensions| extensions.get("regex_scripts")?.as_array());
        let scripts = scripts.cloned().unwrap_or_default();
        let own = PresetExtensions { models: models_of(map), shares: shares(map) };
        let mut preset =
            Self { settings: settings(map), samplers: parameters(map), scripts, extensions: own, ..Self::default() };
        preset.parts = prompts.iter().filter_map(Value::as_object).filter_map(part).collect();
        preset.order = match list("prompt_order").and_then(|lists| order_rows(lists)) {
            Some(rows) => order(rows),
            None => order_of_parts(prompts),
        };
        preset.add_default_parts();
        Ok(preset)
    }

    fn add_default_parts(&mut self) {
        for (id, text, _) in DEFAULT_PARTS {
            if !self.parts.iter().any(|part| part.id == id) {
                let part = PresetPart {
                    id: id.to_owned(),
                    name: default_part_name(id).to_owned(),
                    role: Role::System,
                    text: text.map(str::to_owned),
                    chat_position: None,
                    forbids_override: false,
                    triggers: Vec::new(),
                };
                self.parts.push(part);
            }
        }
    }
}

fn settings(map: &Map<String, Value>) -> PresetSettings {
    let own = PresetSettings::default();
    let text = |key: &str, own: String| map.get(key).and_then(Value::as_str).map_or(own, str::to_owned);
    let is = |key: &str| map.get(key).and_then(truth).unwrap_or_default();
    let tokens = |key: &str| map.get(key).and_then(integer).and_then(|n| usize::try_from(n).ok());
    PresetSettings {
        context: tokens("openai_max_context"),
        reply: tokens("openai_max_tokens"),
        naming: naming(map),
        send_if_empty: text("send_if_empty", own.send_if_empty),
        impersonation: text("impersonation_prompt", own.impersonation),
        new_chat: text("new_chat_prompt", own.new_chat),
        new_example: text("new_example_chat_prompt", own.new_example),
        continue_nudge: text("continue_nudge_prompt", own.continue_nudge),
        lore_format: text("wi_format", own.lore_format),
        scenario_format: text("scenario_format", own.scenario_format),
        personality_format: text("personality_format", own.personality_format),
        prefill: text("assistant_prefill", own.prefill),
        impersonation_prefill: text("assistant_impersonation", own.impersonation_prefill),
        continue_prefill: is("continue_prefill"),
        squash: is("squash_system_messages"),
        layout: if extension(map, "form") == Some(&TURNS.into()) { PromptLayout::Turns } else { own.layout },
    }
}

/// Returns the display name of a default part; empty for others.
pub(super) fn default_part_name(id: &str) -> &'static str {
    DEFAULT_PART_NAMES.iter().find(|(known, _)| *known == id).map_or("", |(_, name)| name)
}

/// Word of [`PromptLayout::Turns`].
pub(super) const TURNS: &str = "turns";
/// Word of [`SpeakerNaming::AsNeeded`].
pub(super) const AS_NEEDED: &str = "asNeeded";

/// Returns a field of `extensions.clotho`.
fn extension<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get("extensions")?.get("clotho")?.get(key)
}

/// Returns the model patterns of a preset.
pub fn models_of(map: &Map<String, Value>) -> Vec<String> {
    texts(map, "models")
}

fn shares(map: &Map<String, Value>) -> PromptShares {
    let percent = |key: &str| extension(map, "shares")?.get(key)?.as_u64().and_then(|n| usize::try_from(n).ok());
    let percent = |key| percent(key).map(|n| n.min(100));
    PromptShares {
        lore: percent("lore"),
        examples: percent("examples"),
        recalled: percent("recalled"),
        history: percent("history"),
    }
}

/// Returns a list of strings from `extensions.clotho`.
fn texts(map: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = extension(map, key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Returns the parameters of a preset. Its own stop strings go before those of other programs.
fn parameters(map: &Map<String, Value>) -> Map<String, Value> {
    let mut samplers = samplers(map);
    let stop = texts(map, "stop");
    if !stop.is_empty() {
        samplers.insert("stop".to_owned(), stop.into());
    }
    samplers
}

fn naming(map: &Map<String, Value>) -> SpeakerNaming {
    if extension(map, "names") == Some(&AS_NEEDED.into()) {
        return SpeakerNaming::AsNeeded;
    }
    match map.get("names_behavior").and_then(integer) {
        Some(-1) => SpeakerNaming::Never,
        Some(1) => SpeakerNaming::Field,
        Some(2) => SpeakerNaming::Before,
        _ => SpeakerNaming::Others,
    }
}

fn part(map: &Map<String, Value>) -> Option<PresetPart> {
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    let is = |key: &str| map.get(key).and_then(truth).unwrap_or_default();
    let number = |key: &str, absent: i64| map.get(key).and_then(integer).unwrap_or(absent);
    let depth = usize::try_from(number("injection_depth", 4)).unwrap_or_default();
    let in_chat = ChatPosition { depth, order: number("injection_order", 100) };
    let triggers = map.get("injection_trigger").and_then(Value::as_array).into_iter().flatten();
    Some(PresetPart {
        id: text("identifier")?.to_owned(),
        name: text("name").unwrap_or_default().to_owned(),
        role: text("role").and_then(Role::parse).unwrap_or(Role::System),
        text: (!is("marker")).then(|| text("content").unwrap_or_default().to_owned()),
        chat_position: (number("injection_position", 0) == 1).then_some(in_chat),
        forbids_override: is("forbid_overrides"),
        triggers: triggers.filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}

/// Returns the character id of a list of `prompt_order`: a number, or the same as a text.
fn character_id(list: &Value) -> Option<i64> {
    integer(list.get("character_id")?)
}

/// Returns whether a list of `prompt_order` is the one for all characters, which is read and written.
pub(super) fn is_used_order(list: &Value) -> bool {
    character_id(list) == Some(ORDER_CHARACTER_ID)
}

/// Returns the rows of the list that is used: the one for all characters, else that of older versions, else the first
/// one with rows. `None` if there is none.
fn order_rows(lists: &[Value]) -> Option<&[Value]> {
    fn rows(list: &Value) -> Option<&[Value]> {
        list.get("order").and_then(Value::as_array).map(Vec::as_slice)
    }
    let of = |id: i64| lists.iter().find(|list| character_id(list) == Some(id)).and_then(rows);
    let is_some = |rows: &&[Value]| !rows.is_empty();
    let older = of(OLD_ORDER_CHARACTER_ID).filter(is_some);
    of(ORDER_CHARACTER_ID).or(older).or_else(|| lists.iter().filter_map(rows).find(is_some))
}

/// Returns the order of a preset that has none: its parts in their order in the file, with the missing default parts
/// between them. A file that has card or lore behind the history is not arranged so; then the default order holds, with
/// the file's own parts between.
fn order_of_parts(prompts: &[Value]) -> Vec<(String, bool)> {
    let enabled = |row: &Value, id: &str| {
        let by_default = DEFAULT_PARTS.iter().find(|(known, ..)| *known == id).is_none_or(|(.., is_on)| *is_on);
        row.get("enabled").and_then(truth).unwrap_or(by_default)
    };
    let named = prompts.iter().filter_map(|row| Some((row, row.get("identifier")?.as_str()?)));
    let own: Vec<(String, bool)> = named.map(|(row, id)| (id.to_owned(), enabled(row, id))).collect();
    let defaults = DEFAULT_PARTS.iter().map(|(id, _, is_on)| ((*id).to_owned(), *is_on)).collect();
    let behind_history = own.iter().skip_while(|(id, _)| id != "chatHistory");
    let is_arranged = !behind_history.into_iter().any(|(id, _)| BEFORE_HISTORY.contains(&id.as_str()));
    if is_arranged { merge_orders(own, defaults) } else { merge_orders(defaults, own) }
}

/// Adds the rows that only `other` has, each behind its predecessor there. Of rows with one id, the first counts.
fn merge_orders(order: Vec<(String, bool)>, other: Vec<(String, bool)>) -> Vec<(String, bool)> {
    let mut merged: Vec<(String, bool)> = Vec::new();
    for (id, is_on) in order {
        // The setting of the file counts, also where the default order holds.
        let is_on = other.iter().find(|(known, _)| *known == id).map_or(is_on, |(_, other)| is_on && *other);
        if !merged.iter().any(|(known, _)| *known == id) {
            merged.push((id, is_on));
        }
    }
    let mut at = 0;
    for (id, is_on) in other {
        match merged.iter().position(|(known, _)| *known == id) {
            Some(place) => at = place + 1,
            None => {
                merged.insert(at.min(merged.len()), (id, is_on));
                at += 1;
            }
        }
    }
    merged
}

fn order(rows: &[Value]) -> Vec<(String, bool)> {
    let mut order: Vec<(String, bool)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for row in rows {
        let Some(id) = row.get("identifier").and_then(Value::as_str) else { continue };
        if seen.insert(id) {
            order.push((id.to_owned(), row.get("enabled").and_then(truth).unwrap_or_default()));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order_of(body: &Value) -> Vec<String> {
        let preset = Preset::read(body.as_object().unwrap()).unwrap();
        preset.order.into_iter().filter(|(_, is_on)| *is_on).map(|(id, _)| id).collect()
    }

    /// The id of the order is a number or a text; lists of older versions and of single characters count if no other
    /// is there.
    #[test]
    fn preset_order_id_in_any_form_is_read() {
        let list =
            |id: Value, name: &str| json!({"character_id": id, "order": [{"identifier": name, "enabled": true}]});
        let body = |lists: Value| json!({"prompts": [{"identifier": "main"}], "prompt_order": lists});
        let (old, new) = (list(json!("100000"), "old"), list(json!(" 100001 "), "new"));
        assert_eq!(order_of(&body(json!([new]))), ["new"]);
        assert_eq!(order_of(&body(json!([old, new]))), ["new"]);
        assert_eq!(order_of(&body(json!([list(json!(1), "one"), old]))), ["old"]);
        assert_eq!(order_of(&body(json!([list(json!(100_000), "old")]))), ["old"]);
        assert_eq!(
            order_of(&body(json!([{"character_id": 100_000, "order": []}, list(json!(7), "seven")]))),
            ["seven"]
        );
        assert_eq!(order_of(&body(json!([{"character_id": "100001", "order": []}]))), [""; 0]);
        for id in [json!(100_001.0), json!("100001.0")] {
            assert_eq!(order_of(&body(json!([list(json!(1), "one"), list(id, "new")]))), ["new"]);
        }
    }

    /// Programs write numbers and flags as texts, and integers as floats.
    #[test]
    fn preset_settings_of_other_types_are_read() {
        let row = |id: &str, is_on: Value| json!({"identifier": id, "enabled": is_on});
        let body = json!({
            "temperature": "0.7", "top_p": "1", "top_k": "0", "seed": "5", "openai_max_tokens": 333.0,
            "openai_max_context": "4096", "names_behavior": "2", "squash_system_messages": "true",
            "continue_prefill": "false",
            "prompts": [
                {"identifier": "a", "content": "x", "injection_position": "1", "injection_depth": "2",
                    "injection_order": "7.0"},
                {"identifier": "b", "content": "y", "marker": "false", "injection_position": 0.0},
            ],
            "prompt_order": [{"character_id": 100_001, "order": [
                row("a", json!("true")), row("b", json!(1)), row("c", json!("false")), row("d", json!(0)),
            ]}],
        });
        let preset = Preset::read(body.as_object().unwrap()).unwrap();
        assert_eq!(
            Value::Object(preset.samplers.clone()),
            json!({"temperature": 0.7, "top_p": 1, "top_k": 0, "seed": 5})
        );
        assert_eq!((preset.settings.reply, preset.settings.context), (Some(333), Some(4096)));
        assert_eq!(preset.settings.naming, SpeakerNaming::Before);
        assert!(preset.settings.squash && !preset.settings.continue_prefill);
        assert_eq!(preset.parts[0].chat_position, Some(ChatPosition { depth: 2, order: 7 }));
        assert_eq!((&preset.parts[1].chat_position, preset.parts[1].text.as_deref()), (&None, Some("y")));
        assert_eq!(order_of(&body), ["a", "b"]);
    }

    /// Without an order, the parts stand as in the file, and nothing is lost.
    #[test]
    fn preset_without_order_keeps_all_parts() {
        let part = |id: &str| json!({"identifier": id, "content": "x"});
        let of = |parts: &[&str], lists: Value| {
            let prompts: Vec<Value> = parts.iter().map(|id| part(id)).collect();
            order_of(&json!({"prompts": prompts, "prompt_order": lists}))
        };
        let default = order_of(&json!({"prompts": []}));
        assert_eq!(default.first().map(String::as_str), Some("main"));
        for lists in [json!(null), json!([]), json!([{"character_id": 100_001}])] {
            let own = of(&["tail", "main", "own", "chatHistory", "end"], lists);
            assert_eq!(own[..3], ["tail", "main", "worldInfoBefore"]);
            assert_eq!(own[own.len() - 4..], ["own", "chatHistory", "jailbreak", "end"]);
            assert_eq!(own.len(), default.len() + 3);
        }
        assert_eq!(of(&["chatHistory", "main"], json!([]))[..2], ["chatHistory", "jailbreak"]);
        // The list of SillyTavern's own file is not arranged.
        let file = ["main", "nsfw", "jailbreak", "chatHistory", "worldInfoBefore", "charDescription", "extra"];
        let own = of(&file, json!([]));
        assert_eq!(own.iter().filter(|id| *id != "extra").collect::<Vec<_>>(), default.iter().collect::<Vec<_>>());
        assert_eq!(
            own.iter().position(|id| id == "extra"),
            own.iter().position(|id| id == "charDescription").map(|at| at + 1)
        );
        let off = json!({"prompts": [{"identifier": "own", "content": "x", "enabled": false}, part("nsfw")]});
        assert!(!order_of(&off).contains(&"own".to_owned()) && order_of(&off).contains(&"nsfw".to_owned()));
    }
}
