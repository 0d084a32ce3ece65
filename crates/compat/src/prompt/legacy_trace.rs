//! Rebuilds the messages of old traces, from before presets: typed blocks plus history. New prompts do not use this.

use clotho_core::tree::Role;

use super::{OutgoingMessage, PromptLine};

/// Place of a block in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceSlot {
    /// The system prompt of the card, or the default one.
    Main,
    Description,
    Personality,
    Scenario,
    Persona,
    /// Example dialogue.
    Example,
    /// The state as its schemas show it. It changes each turn, so it comes late in the prompt.
    Status,
    /// Stands in for a missing user message: model servers refuse a prompt without one.
    Filler,
    /// Instructions after the history.
    PostHistory,
    /// A task other than a reply.
    Instruction,
    /// The reply to continue.
    Continue,
}

impl TraceSlot {
    /// Returns the word used in traces.
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

    /// Parses the word used in traces.
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

/// One typed block of an old trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceBlock {
    pub slot: TraceSlot,
    pub role: Role,
    pub text: String,
    pub is_left_out: bool,
}

/// Combines blocks and history into messages.
///
/// Stable blocks come first, then the history. The status block comes just before the last history line, so the
/// provider can cache the common prefix. Neighbours of the same role are joined by a blank line; empty messages are
/// dropped.
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

/// Returns whether names must be prefixed: as soon as one role has two different names (`domain.md` 2.4).
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
