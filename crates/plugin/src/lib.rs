//! Plugins: rules of a story, written as Rhai scripts by third parties and run within limits.
//!
//! - [`Catalogue`] holds every plugin as a [`LoadedPlugin`]: its [`Manifest`], its schema, its compiled scripts.
//!   [`InstalledPlugins`] holds the current catalogue and reloads plugins whose folder changed.
//! - [`ScriptHost`] runs one [`HookCall`] of one [`Hook`] and returns a [`HookOutcome`]: operations, rolls, notes, the
//!   hook's [`HookAnswer`], and its cost. A script changes nothing itself: it proposes, and the turn decides.
//! - [`manifest_rules`] implements the rules of a manifest that need no script.
//! - [`embedded_plugin`] handles a plugin inside a card. It does not run before it is installed in the plugin folder.
//! - [`ScriptLimits`] bounds everything a call can use. [`ScriptError`] says where and why a script failed.
//!
//! Scripts see `ctx` (the folder of that name, one file per surface) and the standard library as `standard.rs` bounds
//! it. They get nothing else: no network, no files, no environment, no clock, no state between calls.
//!
//! To add a hook: add a variant of [`Hook`], its return type in `answer.rs`, and its call in `turn`. To add a function
//! of `ctx`: edit the file of its surface. To add a limit: add a field of [`ScriptLimits`] and a row in the table of
//! hostile scripts.

mod answer;
mod call;
mod catalogue;
mod check;
mod code;
mod convert;
mod ctx;
mod dice;
pub mod embedded_plugin;
mod engine;
mod error;
mod explain;
pub mod folder;
mod foreign_syntax;
pub mod heap;
mod host;
mod host_fault;
mod installed;
mod interpolate;
mod json_position;
mod limit_violations;
mod limits;
mod literals;
mod loaded;
mod localized_text;
mod manifest;
pub mod manifest_rules;
pub mod model_call;
mod modules;
pub mod mvu;
mod paths;
mod patterns;
mod permission;
mod plain_messages;
mod plan;
pub mod reference;
mod regexes;
pub mod run;
mod runtime;
mod script;
mod script_error_detail;
mod script_functions;
mod settings;
mod slash_command;
mod source;
mod standard;
mod suggest;
pub mod summary;
pub mod testing;
mod thread;
mod version;

pub use call::{
    Hook, HookAnswer, HookCall, HookNodeInfo, HookOutcome, HookUsage, PluginQuickReply, RecentMessage, TOOL_PREFIX,
    ToolInvocation,
};
pub use catalogue::{Catalogue, CatalogueEntry, load_order};
pub use dice::{DiceResult, DiceSeeds, DiceSpec, MalformedDice, Roll};
pub use error::{ExcerptLine, ScriptError, ScriptErrorKind, ScriptFrame};
pub use host::{PendingCall, ScriptHost, ScriptPool};
pub use installed::InstalledPlugins;
pub use limit_violations::LimitViolations;
pub use limits::{ScriptLimit, ScriptLimits};
pub use loaded::LoadedPlugin;
pub use localized_text::LocalizedText;
pub use manifest::{Manifest, ManifestState, PluginCommand, PluginTool};
pub use model_call::{ModelCallAnswer, PluginModelCall};
pub use mvu::{InitVarText, initial_value_problems, omitted_initial_values, unreadable_initial_values};
pub use permission::{Permission, UnknownPermission};
pub use plan::{LoreSelection, PluginPromptPlan, TextInjection};
pub use script_error_detail::ScriptErrorDetail;
pub use settings::{PluginSettingSpec, SettingError, SettingKind};
pub use slash_command::SlashCommand;
pub use source::{PluginOrigin, PluginSource};
pub use suggest::NameHint;
pub use summary::SummaryProposal;
pub use thread::STACK_BYTES;
pub use version::{MalformedRequirement, MalformedVersion, Requirement, Version};
