//! Side calls of models: calls beside the reply, whose text is not streamed to anybody.
//!
//! - `call.rs` asks the models of a fallback list until one answers. Summaries use it too. The caller records the
//!   usage, so that all costs are visible.
//! - `asks.rs` makes the calls that plugins ask for (`ctx.ask`), once their message is written. `on_answer` reads the
//!   answer; its operations become a change node at the end of the branch, since the story may have gone on. The node
//!   stores the answer, so that no replay asks again. A call that a shutdown interrupts is not repeated: the message
//!   says that it asked, and there is no answer node.
//! - `values.rs` asks another model what a reply changes, before the rules run. The reply waits for it, and stays even
//!   if the call fails.
//! - `value_commands.rs` applies the values model's changes for plugins that read no commands.
//! - `answer_nodes.rs` recognises answer nodes: a write based on the HEAD before one goes below it.
//!
//! To add a call, put its request and the use of its answer into a new file, and call it from the step that needs it.

mod answer_nodes;
mod asks;
mod call;
mod value_commands;
mod values;

pub use answer_nodes::{advance_expected, latest_after_answers};
pub use asks::spawn_asks;
pub use call::{add_cost, complete};
pub use value_commands::apply_commands;
pub use values::{ValuesModelResult, request_values, with_values};
