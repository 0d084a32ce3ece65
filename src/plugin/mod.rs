//! Plugins: rules of a story as Rhai scripts, by strangers, within limits.
//!
//! - [`Catalogue`] holds every plugin as a [`LoadedPlugin`]: its [`Manifest`], its schema, its compiled scripts. [`InstalledPlugins`] is
//!   the catalogue as it is now, and takes in what changes in the folder.
//! - [`ScriptHost`] runs one [`HookCall`] of one [`Hook`] and answers with an [`HookOutcome`]: operations, rolls, notes, the
//!   hook's [`HookAnswer`], and what it cost. A script changes nothing by itself: it proposes, the turn decides.
//! - [`schedule`] is the rules of a manifest that need no script.
//! - [`carried`] is a plugin inside a card: a proposal, until it is put into the folder.
//! - [`ScriptLimits`] bound everything a call can use; [`ScriptError`] says where and why a script failed.
//!
//! Scripts see `ctx` (the folder of that name, one file per surface), the standard library as `standard.rs` bounds it,
//! and nothing else: no network, no files, no environment, no clock, no state between calls.
//!
//! To add a hook: a variant of [`Hook`], what it may return in `answer.rs`, who calls it in `turn`. To add a function of
//! `ctx`: its surface's file. To add a limit: a field of [`ScriptLimits`], a row in the table of hostile scripts.

mod answer;
pub mod ask;
mod call;
pub mod carried;
mod catalogue;
mod check;
mod code;
mod command;
mod convert;
mod ctx;
mod dice;
mod engine;
mod error;
mod explain;
mod fault;
pub mod folder;
mod grant;
mod habits;
pub mod heap;
mod host;
mod installed;
mod interpolate;
mod kit;
mod known;
mod limits;
mod literals;
mod loaded;
mod manifest;
mod modules;
pub mod mvu;
mod paths;
mod patterns;
mod place;
mod plainly;
mod plan;
pub mod reference;
mod regexes;
pub mod run;
pub mod schedule;
mod script;
mod settings;
mod source;
mod standard;
mod strikes;
mod suggest;
pub mod summary;
pub mod testing;
mod thread;
mod version;
mod words;

pub use ask::{ModelCallAnswer, PluginModelCall};
pub use call::{
    Hook, HookAnswer, HookCall, HookNodeInfo, HookOutcome, HookUsage, PluginQuickReply, RecentMessage, TOOL,
    ToolInvocation,
};
pub use catalogue::{Catalogue, CatalogueEntry, order};
pub use command::SlashCommand;
pub use dice::{DiceResult, DiceSeeds, DiceSpec, MalformedDice, Roll};
pub use error::{ExcerptLine, ScriptError, ScriptErrorKind, ScriptFrame};
pub use grant::{Permission, UnknownPermission};
pub use host::{PendingCall, ScriptHost, ScriptPool};
pub use installed::InstalledPlugins;
pub use limits::{ScriptLimit, ScriptLimits};
pub use loaded::LoadedPlugin;
pub use manifest::{Manifest, ManifestState, PluginCommand, PluginTool};
pub use mvu::{InitVarText, unread_starts};
pub use plan::{LoreSelection, PluginPromptPlan, TextInjection};
pub use settings::{PluginSettingSpec, SettingError, SettingKind};
pub use source::{PluginOrigin, PluginSource};
pub use strikes::LimitViolations;
pub use summary::SummaryProposal;
pub use thread::STACK;
pub use version::{MalformedRequirement, MalformedVersion, Requirement, Version};
pub use words::LocalizedText;
