//! The steps of one turn and their order: input, node, 202, prompt, stream, rules, commit.
//!
//! [`TurnEngine`] has the entry points, which are in `engine/`. `requests.rs` has the request types, `error.rs` why one
//! fails. `services.rs` has what turns share, in groups: `storage.rs`, `rules/services.rs`, `ask/services.rs` and
//! `running/`. The modules, in the order of a turn:
//!
//! - `start/`: everything up to commit 1, which writes the user's node and the placeholders.
//! - `rules/`: runs the rules of a session. `snapshot.rs` reads what they need at a node, `cast.rs` reads who plays.
//! - `ask/`: builds the prompt. `models/` resolves model names, `tools/` has the tools that a model may call.
//! - `reply/`: one reply up to commit 2, driven by the actions of `machine/`, which is pure.
//! - `side_calls/`: model calls that are not replies. `summarizer.rs` summarises what no longer fits the prompt.
//!
//! Not part of a turn: `draft.rs` has a model write text that becomes no node. `preview.rs` builds a prompt without
//! sending it, and `lore_test.rs` tests which lore fires. `display.rs` lets plugins change how replies are shown, and
//! `display_cache.rs` caches that. `hook_trial/` tries a hook without writing, and replays rules.
//!
//! To add a step to the turn, call it in `start/` or `reply/runner.rs` and put its facts in the trace. To add a hook,
//! see [`clotho_plugin`], then call it in `rules/`.

mod cast;
mod display;
mod display_cache;
mod draft;
mod engine;
mod error;
mod hook_trial;
mod lore_test;
pub mod machine;
mod models;
mod preview;
mod problem;
mod prompts;
mod reply;
mod requests;
mod rules;
mod running;
mod services;
mod side_calls;
mod snapshot;
mod start;
mod storage;
mod summarizer;
mod tools;

pub use display::ReplyDisplay;
pub use display_cache::DisplayResult;
pub use engine::{
    DocumentRecall, DraftTurns, PromptTrials, ReplyTurns, RuleTrials, SessionTurns, SummaryTurns, TurnDeps, TurnEngine,
    TurnTasks, TurnViews,
};
pub use error::TurnError;
pub use hook_trial::replay::{ReplayOutcome, ReplaySpec, ReplayStep};
pub use hook_trial::{HookTrialOutcome, HookTrialSpec};
pub use lore_test::LoreTestOutcome;
pub use models::connections;
pub use models::provider_problem::ProviderProblemDetail;
pub use models::providers::ReplyCost;
pub use models::token_counters::unusable_files;
pub use models::{ModelCandidate, ModelRegistry, ModelSelection, ReplyWriter, SkippedModel, UnknownModelError};
pub use problem::{ModelCallProblem, ToolRefusal, TurnProblem};
pub use prompts::lore::lore_settings;
pub use prompts::preset_selection::parse_preset;
pub use prompts::recall::{RankedDocument, RankedDocuments};
pub use prompts::regex_scripts::{DisplayScripts, ScopedScript, display_scripts, session_scripts};
pub use prompts::summary_block::{BranchSummary, branch_summaries, find_branch_summary};
pub use prompts::trace::{RebuiltPrompt, read_trace};
pub use requests::{
    ContinueSpec, EditSpec, GenerationSpec, ImpersonateSpec, LoreTestSpec, MessageSpec, PluginChoice, PreviewSpec,
    RegenerateSpec, SessionSpec, StaleHeadPolicy, SummarySpec, TurnReceipt,
};
pub use rules::metrics::HookMetric;
pub use running::SaveIntervals;
pub use snapshot::{LeafSnapshot, ReplySuggestions, SuggestedReply};
pub use start::change::PluginsUpdate;
