//! Regex scripts as the page runs them on what is shown.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{WireCharacterId, WireId};
use clotho_engine::turn::{KnownScript, ShownScripts};

/// What shows the messages of a session as its scripts have them.
#[derive(Debug, Serialize, ToSchema)]
pub struct DisplayScriptsResponse {
    /// The scripts that are switched on, allowed, and change what is shown, in the order in which they run.
    pub items: Vec<DisplayScriptResponse>,
    /// What macros of names and cards say where one of the characters speaks; the first is for everybody else. Empty where
    /// there is no script.
    pub casts: Vec<DisplayScriptMacros>,
    /// The variables of all sessions, where a script names one.
    #[schema(value_type = Object)]
    pub globals: Map<String, Value>,
}

/// A script that changes what is shown.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisplayScriptResponse {
    /// Where it comes from: `global` (the caller's own), `preset` or `card`.
    #[schema(value_type = String)]
    pub scope: &'static str,
    /// The character whose card it came with: it is for what that one says, those of the first for everybody else too.
    pub character_id: Option<WireCharacterId>,
    /// Its name.
    pub name: String,
    /// What it looks for.
    pub find: String,
    /// What it puts there instead.
    pub replace: String,
    /// What is taken out of inserted groups.
    pub trim: Vec<String>,
    /// The kinds of text that it is for: 1 what a user says, 2 a reply, 3 a narrator, 6 what a model thinks.
    pub placements: Vec<i64>,
    /// Only what is shown. Where neither this nor `isForPrompts` is: what would be kept of a text when it comes.
    pub is_for_display: bool,
    /// Only what is sent, and with `isForDisplay` both.
    pub is_for_prompts: bool,
    /// Also when a text was edited.
    pub is_on_edit: bool,
    /// Macros in what it looks for: `plain` (there are none), `raw` (what they say is part of the pattern) or `escaped`.
    #[schema(value_type = String)]
    pub macros: &'static str,
    /// The newest message that it is for, in messages from the end.
    pub min_depth: Option<f64>,
    /// The oldest message that it is for.
    pub max_depth: Option<f64>,
}

/// What macros say where a character speaks.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisplayScriptMacros {
    /// The character; null = nobody, in a session without any.
    pub character_id: Option<WireCharacterId>,
    /// What the macros of these names say.
    #[schema(value_type = Object)]
    pub values: BTreeMap<&'static str, String>,
}

impl From<ShownScripts> for DisplayScriptsResponse {
    fn from(shown: ShownScripts) -> Self {
        let cast = |(id, values): (Option<_>, _)| DisplayScriptMacros { character_id: id.map(WireId), values };
        Self {
            items: shown.scripts.into_iter().map(DisplayScriptResponse::from).collect(),
            casts: shown.casts.into_iter().map(cast).collect(),
            globals: shown.globals,
        }
    }
}

impl From<KnownScript> for DisplayScriptResponse {
    fn from(known: KnownScript) -> Self {
        let KnownScript { scope, character, script, .. } = known;
        Self {
            scope: scope.word(),
            character_id: character.map(WireId),
            name: script.name,
            find: script.find,
            replace: script.replace,
            trim: script.trim,
            placements: script.placements.unwrap_or_default(),
            is_for_display: script.for_display,
            is_for_prompts: script.for_prompt,
            is_on_edit: script.on_edit,
            macros: script.macros.word(),
            min_depth: script.min_depth,
            max_depth: script.max_depth,
        }
    }
}
