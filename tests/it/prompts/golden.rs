//! Requests compared byte for byte with those that SillyTavern 1.19.0 would have sent: presets, cards, lore, notes,
//! scripts. The parts are called directly here; `imported` sends the same cases through the server.

use clotho_compat::interop::lorebook;
use clotho_compat::prompt::lore::{
    self, LoreHost, LorebookScope, ScanBook, ScanOutcome, ScanRequest, ScopedBook, WorldInfoSettings,
};
use clotho_compat::prompt::macros::{MacroContext, MacroEngine};
use clotho_compat::prompt::preset::{
    self, GenerationType, HistoryMessage, HistoryTruncation, PositionedText, Preset, PromptInput, PromptLore,
    PromptPosition, PromptRenderer,
};
use clotho_compat::prompt::scripts::{self, MacroFiller, RegexScriptSet, TextOrigin, placement};
use clotho_compat::prompt::{PromptCast, PromptTokenLimits};
use clotho_core::tree::Role;
use serde_json::{Map, Value, json};

pub(super) const CASES: &str = include_str!("../../fixtures/golden/prompts/prompts.jsonl");
pub(super) const DIFFERENCES: &str = include_str!("../../fixtures/golden/prompts/differences.json");
pub(super) const LORE_SETTINGS: &str = include_str!("../../fixtures/golden/prompts/lore_settings.json");

/// Intended differences (`docs/presets.md`).
const EXAMPLES_GO: &str = "examples without names are sent";
const NOTE_ONCE: &str = "macros of a note run once";
const REFUSED: &str = "what must go does not fit: nothing is sent";
const EXPANDED: &str = "macros in what is gone on from are filled in";
const NO_FILLER: &str = "`send_if_empty` goes only where a reply has the last word";
const DEEP_GOES: &str = "what stands between the messages goes, however few of them fit";
const NEWEST_GOES: &str = "the newest message goes, whatever its size";

pub(super) fn read_golden_file(folder: &str, name: &str) -> Map<String, Value> {
    let path = format!("{}/tests/fixtures/golden/prompts/{folder}/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

pub(super) fn text_field(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

pub(super) fn number_field(value: &Value, key: &str) -> usize {
    usize::try_from(value[key].as_u64().unwrap_or_default()).unwrap()
}

fn role_from_number(value: &Value) -> Role {
    match value.as_u64() {
        Some(1) => Role::User,
        Some(2) => Role::Assistant,
        _ => Role::System,
    }
}

fn estimate_tokens(text: &str) -> usize {
    text.encode_utf16().count().div_ceil(4)
}

/// The host of a prompt: macros, scripts and sizes as in the cases.
struct PromptCaseHost<'m, 'a, 's> {
    macros: &'m mut MacroEngine<'a>,
    scripts: &'s mut RegexScriptSet,
}

struct ScriptMacroFiller<'m, 'a>(&'m mut MacroEngine<'a>);

impl MacroFiller for ScriptMacroFiller<'_, '_> {
    fn fill(&mut self, text: &str, speaker: Option<&str>) -> String {
        let text = speaker.map_or_else(|| text.to_owned(), |speaker| text.replace("{{char}}", speaker));
        self.0.fill(&text)
    }
}

impl PromptCaseHost<'_, '_, '_> {
    fn apply_prompt_scripts(
        &mut self,
        text: &str,
        placement: i64,
        depth: Option<i64>,
        speaker: Option<&str>,
    ) -> String {
        let place = scripts::ScriptPlacement { placement, depth, speaker };
        let sent =
            self.scripts.apply_for_prompt(text, TextOrigin::Processed, place, &mut ScriptMacroFiller(self.macros));
        sent.unwrap_or_else(|| text.to_owned())
    }
}

impl LoreHost for PromptCaseHost<'_, '_, '_> {
    fn fill(&mut self, text: &str) -> String {
        self.macros.fill(text)
    }

    fn apply_scripts(&mut self, text: String, depth: Option<i64>) -> String {
        self.apply_prompt_scripts(&text, placement::LORE, depth, None)
    }

    fn variable(&mut self, _: &[String]) -> Option<Value> {
        None
    }

    fn count_tokens(&mut self, text: &str) -> usize {
        estimate_tokens(text)
    }

    fn random(&mut self) -> f64 {
        0.5
    }
}

impl PromptRenderer for PromptCaseHost<'_, '_, '_> {
    fn fill(&mut self, text: &str) -> String {
        self.macros.fill(text)
    }

    fn fill_over(&mut self, text: &str, original: &str) -> String {
        let is_named = text.to_ascii_lowercase().contains("original");
        let original = if is_named { self.macros.fill(original) } else { String::new() };
        self.macros.fill_over(text, &original)
    }

    fn count(&self, text: &str) -> usize {
        estimate_tokens(text)
    }
}

/// A case with the files that it names.
struct PromptCase {
    case: Value,
    preset: Preset,
    card: Value,
    cast: PromptCast,
}

impl PromptCase {
    fn read(case: Value) -> Self {
        let preset = Preset::read(&read_golden_file("presets", case["preset"].as_str().unwrap())).unwrap();
        let card = Value::Object(read_golden_file("cards", case["card"].as_str().unwrap()))["data"].take();
        let cast = PromptCast {
            user: text_field(&case["setup"], "user"),
            persona: text_field(&case["setup"]["persona"], "description"),
            character: text_field(&card, "name"),
            description: text_field(&card, "description"),
            personality: text_field(&card, "personality"),
            scenario: text_field(&card, "scenario"),
            examples: text_field(&card, "mes_example"),
            system: text_field(&card, "system_prompt"),
            post_history: text_field(&card, "post_history_instructions"),
            greetings: vec![text_field(&card, "first_mes")],
            depth_prompt: text_field(&card["extensions"]["depth_prompt"], "prompt"),
            creator_notes: text_field(&card, "creator_notes"),
            version: text_field(&card, "character_version"),
            ..PromptCast::default()
        };
        Self { case, preset, card, cast }
    }

    fn generation_type(&self) -> GenerationType {
        match self.case["type"].as_str().unwrap() {
            "continue" => GenerationType::Continue,
            "impersonate" => GenerationType::Impersonate,
            "swipe" => GenerationType::Swipe,
            "regenerate" => GenerationType::Regenerate,
            _ => GenerationType::Normal,
        }
    }

    /// Returns the visible messages, without the one that a swipe replaces.
    fn visible_messages(&self) -> Vec<&Value> {
        let chat = self.case["chat"].as_array().unwrap();
        let replaced = usize::from(self.generation_type() == GenerationType::Swipe);
        let chat = chat.iter().take(chat.len() - replaced);
        chat.filter(|row| row["is_system"] != true).collect()
    }

    fn history(&self, house: &mut PromptCaseHost<'_, '_, '_>) -> Vec<HistoryMessage> {
        let chat = self.visible_messages();
        let is_more = self.generation_type() == GenerationType::Continue;
        let mut said = Vec::new();
        for (at, row) in chat.iter().enumerate() {
            let is_user = row["is_user"] == true;
            let behind = i64::try_from(chat.len() - 1 - at).unwrap() - i64::from(is_more);
            let placement = if is_user { placement::USER } else { placement::REPLY };
            let name = text_field(row, "name");
            let speaker = (!is_user && name != self.cast.character).then_some(name.as_str());
            let text = house.apply_prompt_scripts(row["mes"].as_str().unwrap(), placement, Some(behind), speaker);
            let role = match () {
                () if row["extra"]["type"] == "narrator" => Role::System,
                () if is_user => Role::User,
                () => Role::Assistant,
            };
            let is_other = row.get("force_avatar").is_some() && name != self.cast.user;
            said.push(HistoryMessage { role, name, is_other, text });
        }
        said
    }

    /// Returns the lore that activates.
    fn scan_lore(&self, history: &[HistoryMessage], house: &mut PromptCaseHost<'_, '_, '_>) -> ScanOutcome {
        let mut own = self.card.get("character_book").map(lorebook::from_card).unwrap_or_default();
        own.insert(lore::WordCharacters::FIELD.to_owned(), "ascii".into());
        let book = ScanBook::read("card", "card", &own);
        let bound = [ScopedBook { scope: LorebookScope::Character, book: &book }];
        let settings: Map<String, Value> = serde_json::from_str(LORE_SETTINGS).unwrap();
        let said = |one: &HistoryMessage| lore::ScanMessage { name: one.name.clone(), text: one.text.clone() };
        let scanned = ScanRequest {
            messages: history.iter().rev().map(said).collect(),
            count: history.len() as u64,
            trigger: self.generation_type().as_str().to_owned(),
            prompt: self.token_limits().prompt(),
            ..ScanRequest::default()
        };
        lore::scan(
            &bound,
            &WorldInfoSettings::from_sillytavern(&settings),
            &scanned,
            &lore::LoreTimers::default(),
            house,
        )
    }

    fn token_limits(&self) -> PromptTokenLimits {
        let settings = &self.preset.settings;
        PromptTokenLimits { context: settings.context.unwrap_or(4_095), reply: settings.reply.unwrap_or(300) }
    }

    fn author_note(&self) -> Option<PositionedText> {
        let note = &self.case["setup"]["note"];
        let said = self.visible_messages().iter().filter(|row| row["is_user"] == true).count();
        let interval = number_field(note, "interval");
        if interval == 0 || said < interval || said % interval != 0 {
            return None;
        }
        let place = match number_field(note, "position") {
            0 => PromptPosition::Prompt,
            2 => PromptPosition::BeforeMain,
            _ => PromptPosition::Depth(number_field(note, "depth")),
        };
        Some(PositionedText {
            text: text_field(note, "prompt"),
            position: place,
            role: role_from_number(&note["role"]),
        })
    }

    fn persona(&self) -> PositionedText {
        let persona = &self.case["setup"]["persona"];
        let place = match number_field(persona, "position") {
            0 => PromptPosition::Prompt,
            2 => PromptPosition::NoteTop,
            3 => PromptPosition::NoteBottom,
            4 => PromptPosition::Depth(number_field(persona, "depth")),
            _ => PromptPosition::Omit,
        };
        PositionedText { text: self.cast.persona.clone(), position: place, role: role_from_number(&persona["role"]) }
    }

    fn card_depth_prompt(&self) -> Option<PositionedText> {
        let own = self.card["extensions"].get("depth_prompt")?;
        let depth = PromptPosition::Depth(own["depth"].as_u64().map_or(4, |depth| usize::try_from(depth).unwrap()));
        let role = own["role"].as_str().and_then(Role::parse).unwrap_or(Role::System);
        Some(PositionedText { text: text_field(own, "prompt"), position: depth, role })
    }

    /// Returns the messages of the request and the variables after it.
    fn build_request(&self) -> Option<(Value, Value)> {
        // The facts for macros.
        let setup = &self.case["setup"];
        let is = |key: &str| setup[key] == true;
        let mut facts = self.cast.macro_context();
        facts.generation_type = self.generation_type().as_str().to_owned();
        let rows = || self.case["chat"].as_array().unwrap().iter().rev().filter(|row| row["is_system"] != true);
        let mes = |row: Option<&Value>| row.map(|row| text_field(row, "mes")).unwrap_or_default();
        facts.history.last = mes(rows().next());
        facts.history.last_user = mes(rows().find(|row| row["is_user"] == true));
        facts.history.last_character = mes(rows().find(|row| row["is_user"] != true));
        // History and lore with the first macro engine.
        let mut draw = || 0.5;
        let mut macros = MacroEngine::new(&facts, setup["local"].as_object().unwrap().clone(), Map::new(), &mut draw);
        let mut own = RegexScriptSet::default();
        own.add(scripts::ScriptScope::Global, true, setup["regex_scripts"].as_array().into_iter().flatten());
        let mut house = PromptCaseHost { macros: &mut macros, scripts: &mut own };
        let history = self.history(&mut house);
        let outcome = self.scan_lore(&history, &mut house);
        // A second engine that also knows the outlets of the lore.
        let local = macros.local.map().clone();
        let outlets = outcome.placement.outlets.iter().map(|(name, texts)| (name.clone(), texts.join("\n")));
        let facts = MacroContext { outlets: Some(outlets.collect()), ..facts.clone() };
        let lore = prompt_lore(outcome);
        let mut macros = MacroEngine::new(&facts, local, Map::new(), &mut draw);
        let mut house = PromptCaseHost { macros: &mut macros, scripts: &mut own };
        // Assemble the prompt.
        let given = PromptInput {
            kind: self.generation_type(),
            user: &self.cast.user,
            character: &self.cast.character,
            description: &self.cast.description,
            personality: &self.cast.personality,
            scenario: &self.cast.scenario,
            examples: &self.cast.examples,
            card_main: if is("prefer_character_prompt") { &self.cast.system } else { "" },
            card_post_history: if is("prefer_character_jailbreak") { &self.cast.post_history } else { "" },
            card_depth: self.card_depth_prompt(),
            persona: self.persona(),
            note: self.author_note(),
            lore: &lore,
            history: &history,
            state: "",
            injected: &[],
            filler: "",
            truncation: HistoryTruncation::Exact,
            strips_examples: is("strip_examples"),
            prompt_tokens: 0,
            pins_examples: is("pin_examples"),
            has_prefill: setup["source"] == "claude",
            reserve: 0,
            cut_reserve: 0,
            default_budget: self.token_limits(),
        };
        let assembled = preset::assemble(&self.preset, &given, &mut house).ok()?;
        // The messages in the form of the case.
        let sent = assembled.messages.iter().map(|message| {
            let mut sent = json!({"role": message.role.as_str(), "content": message.text});
            if let Some(name) = &message.name {
                sent["name"] = name.as_str().into();
            }
            sent
        });
        Some((sent.collect(), Value::Object(macros.local.map().clone())))
    }
}

/// Returns lore by its positions.
fn prompt_lore(outcome: ScanOutcome) -> PromptLore {
    let printed = outcome.placement;
    let examples = |top: bool| {
        let there = printed.examples.iter().filter(move |(is_top, _)| *is_top == top);
        there.map(|(_, text)| text.clone()).collect()
    };
    let in_chat = printed.at_depth.iter().map(|one| {
        let depth = one.depth.and_then(|depth| usize::try_from(depth).ok()).unwrap_or_default();
        (depth, role_from_number(&one.role.into()), one.entries.join("\n"))
    });
    PromptLore {
        before: printed.before.clone(),
        after: printed.after.clone(),
        note_top: printed.note_top.clone(),
        note_bottom: printed.note_bottom.clone(),
        examples_before: examples(true),
        examples_after: examples(false),
        in_chat: in_chat.collect(),
    }
}

/// Returns the intended difference of a case, if it has one.
fn intended_difference(case: &Value) -> Option<&'static str> {
    if case["preset"] == "tighter" {
        return Some(NEWEST_GOES);
    }
    match case["id"].as_str() {
        Some("prompt-066") => return Some(EXAMPLES_GO),
        Some("prompt-096") => return Some(NO_FILLER),
        Some("prompt-126") => return Some(DEEP_GOES),
        _ => {}
    }
    let accidents = case["accident"].as_array().into_iter().flatten();
    accidents.filter_map(Value::as_str).find_map(|accident| match accident {
        "separator-without-example" => Some(EXAMPLES_GO),
        "note-macros-run-again" => Some(NOTE_ONCE),
        "partial-prompt-sent" => Some(REFUSED),
        "text-not-expanded" => Some(EXPANDED),
        _ => None,
    })
}

/// Returns how our messages differ from the recorded ones: what stands between the messages that both begin and end
/// with. `None` if they are equal. A refused prompt has no messages.
pub(super) fn difference(recorded: &Value, ours: Option<&Value>) -> Option<Value> {
    let Some(ours) = ours.and_then(Value::as_array) else { return Some(json!({"ours": null})) };
    let recorded = recorded.as_array().unwrap();
    if recorded == ours {
        return None;
    }
    let before = recorded.iter().zip(ours).take_while(|(a, b)| a == b).count();
    let (recorded, ours) = (&recorded[before..], &ours[before..]);
    let after = recorded.iter().rev().zip(ours.iter().rev()).take_while(|(a, b)| a == b).count();
    Some(json!({
        "at": before,
        "recorded": recorded[..recorded.len() - after],
        "ours": ours[..ours.len() - after],
    }))
}

/// S4-52: every recorded request matches. Those with an intended difference match in everything else, also in the
/// variables after the request; `differences.json` has what differs. `WRITE_DIFFERENCES=1` writes that file.
#[test]
fn prompt_requests_match_recorded_sillytavern_requests() {
    let known: Map<String, Value> = serde_json::from_str(DIFFERENCES).unwrap();
    let (mut equal, mut found, mut wrong) = (0, Map::new(), Vec::new());
    for line in CASES.lines() {
        let case = PromptCase::read(serde_json::from_str(line).unwrap());
        let (id, expected) = (case.case["id"].as_str().unwrap().to_owned(), &case.case["expect"]);
        let made = case.build_request();
        let mut differs = difference(&expected["messages"], made.as_ref().map(|(messages, _)| messages));
        if let Some((_, variables)) = made.as_ref().filter(|(_, variables)| *variables != expected["local_after"]) {
            let differs = differs.get_or_insert_with(|| json!({}));
            differs["variables"] = variables.clone();
        }
        match (differs, intended_difference(&case.case)) {
            (None, _) => equal += 1,
            (Some(mut differs), Some(reason)) => {
                differs["reason"] = reason.into();
                found.insert(id, differs);
            }
            (Some(differs), None) => wrong.push(format!("{id}: {differs}\n  {}", expected["messages"])),
        }
    }
    assert!(wrong.is_empty(), "{equal} equal, {} wrong\n{}", wrong.len(), wrong.join("\n"));
    if std::env::var_os("WRITE_DIFFERENCES").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/golden/prompts/differences.json");
        std::fs::write(path, format!("{}\n", serde_json::to_string_pretty(&found).unwrap())).unwrap();
    } else {
        for id in known.keys().chain(found.keys()) {
            assert_eq!(known.get(id), found.get(id), "{id}");
        }
    }
    assert_eq!((equal, found.len()), (55, 39));
}
