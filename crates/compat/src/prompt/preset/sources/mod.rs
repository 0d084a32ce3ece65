//! The sources of a prompt, one in each file, in the order in which SillyTavern expands their macros: a variable that
//! one text writes is visible to the next.
//!
//! - `parts`: the texts of the preset, the card, the persona and the lore around them.
//! - `ending`: what stands after everything else, and the start of the reply.
//! - `note`: the author's note. `heading`: the text before the history.
//! - `examples`: example dialogue. `chat_texts`: texts at a depth, from cards, lore, plugins and the state.
//! - `history`: the messages, and where the texts at a depth stand between them.
//!
//! To add a source, write its file with a [`PromptSource`], and name it in [`REQUIRED`] or [`OPTIONAL`].

mod chat_texts;
mod ending;
mod examples;
mod heading;
mod history;
mod note;
mod parts;

use super::candidate::PromptSource;

pub(super) use history::HistoryRenderer;

/// The sources of what must be sent. If that does not fit, no other source is asked.
pub(super) const REQUIRED: [&dyn PromptSource; 4] =
    [&parts::PartSource, &ending::EndingSource, &note::NoteSource, &heading::HeadingSource];

/// The sources of everything else. The history is the last one, because it joins the texts between its messages.
pub(super) const OPTIONAL: [&dyn PromptSource; 3] =
    [&examples::ExampleSource, &chat_texts::ChatTextSource, &history::HistorySource];
