//! Regex scripts that the page runs on displayed text.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids::{WireCharacterId, WireId};
use super::string_enums::{ScriptMacrosEnum, ScriptScopeEnum};
use crate::http::json_schema::JsonMap;
use clotho_engine::turn::{DisplayScripts, ScopedScript};

/// All that a client needs to apply the regex scripts of a session to displayed messages.
#[derive(Debug, Serialize, ToSchema)]
pub struct DisplayScriptsResponse {
    /// The enabled and permitted scripts that change the display, in execution order.
    pub items: Vec<DisplayScriptResponse>,
    /// Macro values for each speaking character. The first entry applies to all other speakers. Empty if there is no
    /// script.
    pub casts: Vec<DisplayScriptMacros>,
    /// Global variables, if a script uses one.
    #[schema(value_type = JsonMap)]
    pub globals: Map<String, Value>,
}

/// A regex script that changes the display.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisplayScriptResponse {
    /// Source: `global` (the caller's own), `preset` or `card`.
    #[schema(value_type = ScriptScopeEnum)]
    pub scope: &'static str,
    /// The character whose card has the script; it applies to messages of this character. Scripts of the first
    /// character also apply to all other speakers.
    #[schema(required)]
    pub character_id: Option<WireCharacterId>,
    /// Name of the script.
    pub name: String,
    /// The regular expression to find.
    pub find: String,
    /// The replacement text.
    pub replace: String,
    /// Strings removed from inserted groups.
    pub trim: Vec<String>,
    /// Kinds of text: 1 user input, 2 reply, 3 narrator, 6 reasoning.
    pub placements: Vec<i64>,
    /// Applies to the display only. A script with neither this nor `isForPrompts` applies to both and runs first.
    pub is_for_display: bool,
    /// Applies to prompts only; together with `isForDisplay`, to both.
    pub is_for_prompts: bool,
    /// Also runs after an edit.
    pub is_on_edit: bool,
    /// Macros in the pattern: `plain` (not expanded), `raw` (expanded as part of the pattern) or `escaped` (expanded
    /// literally).
    #[schema(value_type = ScriptMacrosEnum)]
    pub macros: &'static str,
    /// Minimum depth of a message, counted from the newest; null = no limit.
    #[schema(required)]
    pub min_depth: Option<f64>,
    /// Maximum depth of a message, counted from the newest; null = no limit.
    #[schema(required)]
    pub max_depth: Option<f64>,
}

/// Macro values while one character speaks.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DisplayScriptMacros {
    /// The character; null in a session without characters.
    #[schema(required)]
    pub character_id: Option<WireCharacterId>,
    /// Macro values by macro name.
    #[schema(value_type = BTreeMap<String, String>)]
    pub values: BTreeMap<&'static str, String>,
}

impl From<DisplayScripts> for DisplayScriptsResponse {
    fn from(shown: DisplayScripts) -> Self {
        let cast = |(id, values): (Option<_>, _)| DisplayScriptMacros { character_id: id.map(WireId), values };
        Self {
            items: shown.scripts.into_iter().map(DisplayScriptResponse::from).collect(),
            casts: shown.casts.into_iter().map(cast).collect(),
            globals: shown.globals,
        }
    }
}

impl From<ScopedScript> for DisplayScriptResponse {
    fn from(found: ScopedScript) -> Self {
        let ScopedScript { scope, character, script, .. } = found;
        Self {
            scope: scope.as_str(),
            character_id: character.map(WireId),
            name: script.name,
            find: script.find,
            replace: script.replace,
            trim: script.trim,
            placements: script.placements.unwrap_or_default(),
            is_for_display: script.for_display,
            is_for_prompts: script.for_prompt,
            is_on_edit: script.on_edit,
            macros: script.macros.as_str(),
            min_depth: script.min_depth,
            max_depth: script.max_depth,
        }
    }
}
