//! Prompts of traces that were kept before presets made all of them: typed blocks and the history become messages again.
//! Nothing new is made here.

use clotho_core::tree::Role;

use super::{OutgoingMessage, PromptLine};

/// Where a block belonged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceSlot {
    /// The instructions of the card, or the default ones.
    Main,
    /// Who the character is.
    Description,
    /// How the character is.
    Personality,
    /// Where the story is set.
    Scenario,
    /// Who the user plays.
    Persona,
    /// Example turns.
    Example,
    /// The world as its schemas show it; changes each turn, so it stands behind the history.
    Status,
    /// What stands for a user's message where there is none: model servers refuse a prompt without one.
    Filler,
    /// The last word to the model.
    PostHistory,
    /// What the model is asked to do in place of a reply.
    Instruction,
    /// The reply that it is to go on from.
    Continue,
}

impl TraceSlot {
    /// The word for it in traces.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Description => "description",
            Self::Personality => "personality",
            Self::Scenario => "scenario",
            Self::Persona => "persona",
            Self::Example => "example",
            Self::Status => "status",
            Self::Filler => "filler",
            Self::PostHistory => "postHistory",
            Self::Instruction => "instruction",
            Self::Continue => "continued",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        const ALL: [TraceSlot; 11] = [
            TraceSlot::Main,
            TraceSlot::Description,
            TraceSlot::Personality,
            TraceSlot::Scenario,
            TraceSlot::Persona,
            TraceSlot::Example,
            TraceSlot::Status,
            TraceSlot::Filler,
            TraceSlot::PostHistory,
            TraceSlot::Instruction,
            TraceSlot::Continue,
        ];
        ALL.into_iter().find(|slot| slot.as_str() == word)
    }
}

/// One typed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceBlock {
    /// Where it belonged.
    pub slot: TraceSlot,
    /// Who said it.
    pub role: Role,
    /// The text.
    pub text: String,
    /// Whether it was not sent.
    pub is_left_out: bool,
}

/// Weaves blocks and history into messages: what is stable first, then the history, with what changes each turn just
/// before its last line, so that the provider's cache of the common beginning holds. Neighbours of one role are joined by
/// a blank line, empty ones dropped.
pub fn rebuild_messages(blocks: &[TraceBlock], history: &[PromptLine]) -> Vec<OutgoingMessage> {
    let history: Vec<&PromptLine> = history.iter().filter(|line| !line.text.trim().is_empty()).collect();
    let named = needs_names(&history);
    let mut sent: Vec<OutgoingMessage> = Vec::new();
    let of = |wanted: &dyn Fn(TraceSlot) -> bool| {
        blocks
            .iter()
            .filter(|block| !block.is_left_out && wanted(block.slot))
            .map(|block| OutgoingMessage { role: block.role, name: None, text: block.text.clone() })
            .collect::<Vec<_>>()
    };
    sent.extend(of(&|slot| slot < TraceSlot::Status));
    let (last, earlier) = match history.split_last() {
        Some((last, earlier)) => (Some(last), earlier),
        None => (None, history.as_slice()),
    };
    sent.extend(earlier.iter().map(|line| line_message(line, named)));
    sent.extend(of(&|slot| slot == TraceSlot::Status));
    sent.extend(last.map(|line| line_message(line, named)));
    for end in [TraceSlot::Filler, TraceSlot::PostHistory, TraceSlot::Instruction, TraceSlot::Continue] {
        sent.extend(of(&|slot| slot == end));
    }
    join_neighbours(sent)
}

/// Names are prefixed as soon as two people or two characters are on the path (`domain.md` 2.4).
fn needs_names(history: &[&PromptLine]) -> bool {
    [Role::User, Role::Assistant].into_iter().any(|role| {
        let mut names = history.iter().filter(|line| line.role == role).filter_map(|line| line.name.as_deref());
        names.next().is_some_and(|first| names.any(|name| name != first))
    })
}

fn line_message(line: &PromptLine, named: bool) -> OutgoingMessage {
    let text = match &line.name {
        Some(name) if named && line.role != Role::System => format!("{name}: {}", line.text),
        _ => line.text.clone(),
    };
    OutgoingMessage { role: line.role, name: None, text }
}

fn join_neighbours(sent: Vec<OutgoingMessage>) -> Vec<OutgoingMessage> {
    let mut joined: Vec<OutgoingMessage> = Vec::new();
    for message in sent.into_iter().filter(|message| !message.text.trim().is_empty()) {
        match joined.last_mut() {
            Some(last) if last.role == message.role => {
                last.text.push_str("\n\n");
                last.text.push_str(&message.text);
            }
            _ => joined.push(message),
        }
    }
    joined
}
