//! The first half of a turn, up to commit 1. It reads the snapshot, runs the input hooks, writes the user's node with
//! the placeholders of its replies, moves HEAD and starts the runners.
//!
//! `send.rs` sends a message. `replies.rs` writes the placeholders and starts the runners.
//! `input.rs` runs plugins on a text before it is written. `edit.rs` starts with an edited message, `reroll.rs` with
//! replies only, `new_session.rs` with a session, `change.rs` with a change of the world or the rules.
//! `initial_values.rs` reads the initial values in lorebooks.

pub(super) mod change;
pub(super) mod edit;
pub(super) mod initial_values;
pub(super) mod input;
pub(super) mod new_session;
pub(super) mod regenerate;
mod replies;
mod send;

pub use replies::{merged_params, model};
pub use send::{cancel_reply, message};
