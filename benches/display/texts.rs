//! The scripts, and the texts that they run on.

use clotho_compat::prompt::macros::{MacroContext, MacroEngine};
use clotho_compat::prompt::scripts::{RegexScriptSet, ScriptPlacement, ScriptScope, ScriptUse, placement};
use serde_json::{Map, Value};

/// How many texts one set of scripts runs on. A set has a limit of steps, which is meant for one prompt.
const USES: usize = 20;
/// Variables of the session besides those that the scripts read.
const VARIABLES: usize = 50;

/// The pieces of the texts.
pub struct Texts {
    opening: String,
    paragraphs: Vec<String>,
    ending: String,
    /// A message of the user.
    pub message: String,
}

impl Texts {
    pub fn read() -> Self {
        let texts: Value = serde_json::from_str(include_str!("texts.json")).unwrap();
        let text = |key: &str| texts[key].as_str().unwrap().to_owned();
        let paragraphs = texts["paragraphs"].as_array().unwrap();
        let paragraphs = paragraphs.iter().map(|paragraph| paragraph.as_str().unwrap().to_owned()).collect();
        Self { opening: text("opening"), paragraphs, ending: text("ending"), message: text("message") }
    }

    /// Returns a reply of about so many characters, at most a paragraph more.
    pub fn reply(&self, characters: usize) -> String {
        let units = |text: &str| text.encode_utf16().count();
        let mut text = self.opening.clone();
        for paragraph in self.paragraphs.iter().cycle() {
            text.push_str(paragraph);
            if units(&text) + units(&self.ending) >= characters {
                break;
            }
            text.push_str("\n\n");
        }
        text + &self.ending
    }
}

/// The twenty scripts, as a file of SillyTavern has them.
pub fn all_scripts() -> Vec<Value> {
    serde_json::from_str(include_str!("scripts.json")).unwrap()
}

/// Scripts as a server could keep them for a session: their patterns are compiled once.
pub struct DisplayScripts {
    scripts: Vec<Value>,
    /// A text that makes all patterns ready.
    example: String,
    macro_context: MacroContext,
    variables: Map<String, Value>,
    script_set: RegexScriptSet,
    use_count: usize,
}

impl DisplayScripts {
    pub fn new(scripts: Vec<Value>, example: &str) -> Self {
        let facts = MacroContext { user: "Ada".into(), character: "Rin".into(), ..MacroContext::default() };
        let mut variables: Map<String, Value> = (0..VARIABLES).map(|n| (format!("value_{n}"), n.into())).collect();
        variables.extend([("gold".to_owned(), 12.into()), ("day".to_owned(), 3.into())]);
        let (example, set) = (example.to_owned(), RegexScriptSet::default());
        let mut new = Self { scripts, example, macro_context: facts, variables, script_set: set, use_count: USES };
        new.refresh_set();
        new
    }

    /// Replaces the set if it has run often enough. Not part of the measured work.
    pub fn refresh_set(&mut self) {
        if self.use_count < USES {
            return;
        }
        assert!(self.script_set.notes().all(|note| note.reason.is_none()), "no script was skipped");
        self.script_set = RegexScriptSet::default();
        self.script_set.add(ScriptScope::Preset, true, &self.scripts);
        let example = self.example.clone();
        self.render(&example, placement::REPLY, 0);
        self.use_count = 0;
    }

    /// Returns a text as it is shown. Macros see the variables of the session, and what they write is discarded.
    pub fn render(&mut self, text: &str, kind: i64, depth: i64) -> String {
        self.use_count += 1;
        let mut draw = || 0.5;
        let mut macros = MacroEngine::new(&self.macro_context, self.variables.clone(), Map::new(), &mut draw);
        let place = ScriptPlacement { placement: kind, depth: Some(depth), speaker: None };
        let stored = self.script_set.apply(text, ScriptUse::Stored, place, &mut macros);
        let text = stored.as_deref().unwrap_or(text);
        let shown = self.script_set.apply(text, ScriptUse::Display, place, &mut macros);
        shown.unwrap_or_else(|| text.to_owned())
    }
}
