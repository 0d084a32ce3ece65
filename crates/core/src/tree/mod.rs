//! The message tree: nodes, paths and planned edits. Pure: no I/O, no SQL, no HTTP.
//!
//! - [`node`]: plain data. A complete node's facts never change; its arrangement is an overlay.
//! - [`edit`]: plans an append, reroll, edit or checkout as a list of effects for the operation log. The store only
//!   applies them.
//! - [`arrange`]: the edits of the arrangement that a request can ask for.
//! - [`limits`]: maximum lengths of names and maximum counts.
//! - [`merge_parts`]: which operations a merge brings over, also if the two branches were merged before.
//! - [`card`]: validation of character and persona cards; [`lorebook`] and [`preset`]: the same for these.
//! - [`conflict_paths`]: the paths at which two branches conflict.
//! - [`merge`]: the conflicts of two branches and their resolution.
//! - [`authors_note`]: the author's note of a session's prompts.
//! - [`connection_profile`]: what a connection profile sets in a session.
//! - [`recall_settings`], [`summary_settings`]: the settings for recall and for rolling summaries.
//! - [`reply_facts`]: what is recorded about replies: metadata and the heads of traces.
//! - [`message_run`]: runs, that is consecutive messages of one branch.
//! - [`reference_tree`]: the tree rebuilt from the operation log alone; tests compare the store with it.
//!
//! To add an edit: a function in `edit.rs` that returns effects, a new [`crate::oplog::Effect`] if none fits, its arm
//! in `reference_tree.rs`, and its arm in `store/effects.rs`.

pub mod allowed_scripts;
pub mod arrange;
pub mod authors_note;
pub mod card;
pub mod conflict_paths;
pub mod connection_profile;
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
pub mod reply_facts;
pub mod requested_settings;
pub mod script_consent;
pub mod session;
pub mod summary_settings;

pub use allowed_scripts::AllowedScripts;
pub use arrange::{EditTarget, TreeEdit};
pub use authors_note::{AuthorsNote, NotePlacement};
pub use connection_profile::ConnectionSettings;
pub use delta::{Delta, NodeNote, NodeProblem};
pub use node::{Effects, Kind, Node, Role, SiblingPosition, Status};
pub use recall_settings::RecallSettings;
pub use reply_facts::{NodeMetadata, ReplyFacts, SummaryMetadata, TraceHead, ValuesRecord};
pub use requested_settings::RequestedSettings;
pub use script_consent::ScriptConsent;
pub use session::{CardRef, PersonaRef, PluginSetting, Session};
pub use summary_settings::SummarySettings;
