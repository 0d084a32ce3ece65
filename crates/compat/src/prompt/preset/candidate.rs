//! What a prompt may contain: the candidates, and the trait of the sources that gather them.

use super::{
    ChatPosition, HistoryMessage, OmittedText, Preset, PresetPart, PromptInput, PromptMessage, PromptRenderer,
};
use crate::prompt::OmitReason;
use clotho_core::tree::Role;

/// Id of the part that a note can stand beside.
pub(super) const MAIN: &str = "main";
/// Id of the part where the history stands.
pub(super) const HISTORY: &str = "chatHistory";
/// Id of the part where the examples stand.
pub(super) const EXAMPLES: &str = "dialogueExamples";

/// Markers with a text. If the order does not name one, it is sent at the end, in this order.
const TEXT_MARKERS: [&str; 6] =
    ["worldInfoBefore", "worldInfoAfter", "charDescription", "charPersonality", "scenario", "personaDescription"];

/// One source of texts: the parts of the preset, the examples, the history …
pub(super) trait PromptSource {
    /// Adds what the source has. Its macros run now, and see the variables that earlier sources wrote.
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates);
}

/// What every source reads.
pub(super) struct PromptScope<'a> {
    pub preset: &'a Preset,
    pub input: &'a PromptInput<'a>,
    /// The parts of this request, in order.
    pub parts: Vec<ScopePart<'a>>,
}

/// One part of a request.
pub(super) struct ScopePart<'a> {
    pub part: &'a PresetPart,
    /// Whether it is enabled. A disabled main part stays as an empty part, as the anchor for a note.
    pub is_on: bool,
}

impl ScopePart<'_> {
    /// Position in the chat; `None` = by the order of parts.
    pub fn chat_position(&self) -> Option<ChatPosition> {
        self.part.chat_position.filter(|_| self.is_on)
    }
}

impl<'a> PromptScope<'a> {
    /// Selects the parts of a request.
    pub fn new(preset: &'a Preset, input: &'a PromptInput<'a>) -> Self {
        let known = |id: &str| preset.parts.iter().find(|part| part.id == id);
        let mut parts: Vec<ScopePart<'_>> =
            preset.order.iter().filter_map(|(id, is_on)| Some(ScopePart { part: known(id)?, is_on: *is_on })).collect();
        let is_named = |id: &str| preset.order.iter().any(|(named, _)| named == id);
        let rest = TEXT_MARKERS.iter().filter(|id| !is_named(id)).filter_map(|id| known(id));
        parts.extend(rest.map(|part| ScopePart { part, is_on: true }));
        parts.retain_mut(|ScopePart { part, is_on }| {
            *is_on &= part.triggers.is_empty() || part.triggers.iter().any(|kind| kind == input.kind.as_str());
            *is_on || part.id == MAIN
        });
        Self { preset, input, parts }
    }

    /// Returns the index of a part outside the chat.
    pub fn anchor(&self, id: &str) -> Option<usize> {
        self.parts.iter().position(|own| own.part.id == id && own.chat_position().is_none())
    }

    /// Returns the newest message.
    pub fn newest(&self) -> Option<&'a HistoryMessage> {
        self.input.history.last()
    }
}

/// Everything that the sources have gathered.
#[derive(Debug, Default)]
pub(super) struct PromptCandidates {
    /// Texts, each of which is sent or left out.
    pub texts: Vec<PromptCandidate>,
    /// Texts inside the chat. Those of one position are joined before they are candidates.
    pub chat_texts: Vec<ChatText>,
    /// The messages of the history, newest first. Each is rendered when its turn comes, because the macros of messages
    /// that do not fit must not run.
    pub history: Vec<HistoryCandidate>,
    /// Estimated tokens of the newest message and of the texts inside the chat.
    pub chat_tokens: usize,
    /// Start of the reply.
    pub prefill: Option<String>,
    /// Texts that are left out for another reason than the budget.
    pub omitted: Vec<OmittedText>,
}

/// One text that the budget keeps or leaves out: a message, or several that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PromptCandidate {
    pub kind: CandidateKind,
    /// Where it stands.
    pub order: PromptOrder,
    /// When it takes its tokens.
    pub stage: AllocationStage,
    pub tokens: usize,
    /// The text, its role and its sources.
    pub messages: Vec<PromptMessage>,
}

/// How a candidate is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CandidateKind {
    /// A part of the preset, or the note beside one.
    Part,
    /// The part where the history or the examples stand; it is not sent itself.
    Anchor,
    /// A text that is sent as it is.
    Message,
}

/// Where a candidate stands: the index of a part, and the place at that part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PromptOrder {
    part: usize,
    place: usize,
}

impl PromptOrder {
    /// Before a part.
    pub const fn before(part: usize) -> Self {
        Self { part, place: 0 }
    }

    /// The part itself.
    pub const fn part(part: usize) -> Self {
        Self { part, place: 1 }
    }

    /// The place number `place` after a part, from 0.
    pub const fn after(part: usize, place: usize) -> Self {
        Self { part, place: place.saturating_add(2) }
    }

    /// The place number `place` after all parts, from 0.
    pub const fn end(place: usize) -> Self {
        Self { part: usize::MAX, place }
    }
}

/// When a candidate takes its tokens: an earlier stage takes them first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AllocationStage {
    /// Nothing is sent if these do not fit.
    Required,
    /// The message to continue, whatever its size.
    Continuation,
    /// Examples that have priority over the history.
    PinnedExamples,
    /// Examples that leave the history its share.
    LeadingExamples,
    /// The user message that model servers ask for, whatever its size.
    Filler,
    /// Texts inside the chat, each by itself.
    ChatText,
    /// Messages: the newest whatever its size, then older ones until one does not fit.
    History,
    /// Examples that take what the history leaves.
    TrailingExamples,
}

/// A text inside the chat, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChatText {
    pub at: ChatPosition,
    pub role: Role,
    pub text: String,
    pub id: String,
    /// The index of its part; `None` for other sources.
    pub part: Option<usize>,
}

/// A message of the history that is not rendered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HistoryCandidate {
    pub order: PromptOrder,
    /// Its index in the history.
    pub index: usize,
}

impl PromptCandidates {
    /// Adds a message that is sent as it is.
    pub fn push(&mut self, order: PromptOrder, stage: AllocationStage, tokens: usize, messages: Vec<PromptMessage>) {
        self.texts.push(PromptCandidate { kind: CandidateKind::Message, order, stage, tokens, messages });
    }

    /// Returns the texts of a request that is not sent.
    pub fn omit_all(self) -> Vec<OmittedText> {
        let parts = self.texts.into_iter().filter(|text| text.kind != CandidateKind::Message);
        let parts = parts.map(|text| (text.order, text.messages));
        let in_chat = self.chat_texts.into_iter().filter_map(|text| {
            let message = PromptMessage::from_part(text.role, text.text, &text.id);
            Some((PromptOrder::part(text.part?), vec![message]))
        });
        let mut all: Vec<(PromptOrder, Vec<PromptMessage>)> = parts.chain(in_chat).collect();
        all.sort_by_key(|(order, _)| *order);
        let messages = all.into_iter().flat_map(|(_, messages)| messages);
        let messages = messages.filter(|message| !message.text.trim().is_empty());
        messages.map(|message| message.omit(OmitReason::Budget)).chain(self.omitted).collect()
    }
}

impl PromptCandidate {
    /// Returns whether it has no text, so that it is sent without taking tokens.
    pub fn is_empty(&self) -> bool {
        self.messages.iter().all(|message| message.text.is_empty())
    }

    /// Returns the history index of a message that comes from the history.
    pub fn history_index(&self) -> Option<usize> {
        self.messages.iter().find_map(PromptMessage::history_index)
    }

    /// Converts it to omitted texts.
    pub fn omit(self, why: OmitReason) -> impl Iterator<Item = OmittedText> {
        let messages = self.messages.into_iter().filter(|message| !message.text.is_empty());
        messages.map(move |message| message.omit(why))
    }
}
