//! Calls of models beside the story's own: nobody watches their words.
//!
//! - `call.rs` asks the models of a choice one after the other, and hears the one that answers to its end; summaries are made by it
//!   too. Whoever has one made writes down what it took, so that nothing is spent unseen.
//! - `asks.rs` makes the calls that plugins ask for (`ctx.ask`) when the message that asked is written, and lets `on_answer` read
//!   what came. What it does is a change node at the end of the line on which the message stands: by then the story may have gone
//!   on. The node has the answer, so that no replay, reload or rewind asks again. A call that a stop of the server cuts off is not made
//!   up for: the message says that it asked, and no node says what came.
//! - `values.rs` asks another model what a reply changes, before its rules read it: the reply waits for that, and stands whatever
//!   comes of it.
//! - `value_commands.rs` does what that model says of values whose plugins read no commands.
//! - `answer_nodes.rs` knows such nodes again: who writes where HEAD was before one came, writes after it.
//!
//! To add a call: what is asked and where its answer goes in a file of its own; who has it made calls it from the journey.

mod answer_nodes;
mod asks;
mod call;
mod value_commands;
mod values;

pub use answer_nodes::{ANSWERS, latest_after_answers, seen};
pub use asks::PluginModelCalls;
pub use call::{add_cost, ask};
pub use value_commands::keep;
pub use values::{ValuesModelResult, request_values, with_values};
