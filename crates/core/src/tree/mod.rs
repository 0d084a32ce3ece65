//! The tree: what a node is, how paths are read, and how edits are planned. Pure: no I/O, no SQL, no HTTP.
//!
//! - [`node`]: the plain data. Facts never change once a node is complete; arrangement is an overlay.
//! - [`edit`]: what an append, a reroll, an edit or a checkout *means*, as a list of effects for the operation log.
//!   The store only carries them out.
//! - [`arrange`]: the edits of the arrangement that one may ask for.
//! - [`limits`]: how long names may be, and how many things of a kind there may be.
//! - [`merge_parts`]: what comes over in a merge of two lines that may have met before.
//! - [`card`]: what the card of a character or a persona may say; [`book`]: what a lorebook may.
//! - [`conflict_paths`]: where two lines did what does not go together.
//! - [`merge`]: what two lines did to the same places, and which of it holds.
//! - [`authors_note`]: the author's note, which stands in the prompts of a session.
//! - [`recall`]: what a session recalls of what its prompts do not hold any more; [`summaries`]: whether it sums that up.
//! - [`run`]: which messages follow each other on one line.
//! - [`reference_tree`]: the same tree rebuilt from nothing but the operation log; the reference that tests hold the store to.
//!
//! To add an edit: a function in `edit.rs` that answers with effects, an [`crate::oplog::Effect`] if none fits, its arm
//! in `reference_tree.rs`, and the store's arm in `store/effects.rs`.

pub mod arrange;
pub mod authors_note;
pub mod card;
pub mod conflict_paths;
pub mod delta;
pub mod edit;
pub mod limits;
pub mod lorebook;
pub mod merge;
pub mod merge_parts;
pub mod message_run;
pub mod node;
pub mod preset;
pub mod recall_settings;
pub mod reference_tree;
pub mod session;
pub mod summary_settings;

pub use arrange::{EditTarget, TreeEdit};
pub use authors_note::{AuthorsNote, NotePlacement};
pub use delta::{Delta, NodeNote, NodeProblem};
pub use node::{Effects, Kind, Node, Role, SiblingPosition, Status};
pub use recall_settings::RecallSettings;
pub use session::{AllowedScripts, CardRef, PersonaRef, PluginSetting, Session};
pub use summary_settings::SummarySettings;
