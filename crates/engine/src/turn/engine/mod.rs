//! The entry points of turns, by who calls. Requests run on the server's own task, so a client that disconnects changes
//! nothing.
//!
//! `sessions.rs` starts sessions and changes their state. `replies.rs` writes messages, replies and drafts. `trials.rs`
//! tries prompts, lore and rules. `views.rs` serves readers. `tasks.rs` has the work in the background.
//! `turn_engine.rs` builds all of them.
//!
//! To add a request, put its method into the file of its caller, and its work into the step of the turn.

mod replies;
mod sessions;
mod tasks;
mod trials;
mod turn_engine;
mod views;

pub use replies::{DraftTurns, ReplyTurns};
pub use sessions::SessionTurns;
pub use tasks::{SummaryTurns, TurnTasks};
pub use trials::{PromptTrials, RuleTrials};
pub use turn_engine::{TurnDeps, TurnEngine};
pub use views::{DocumentRecall, TurnViews};
