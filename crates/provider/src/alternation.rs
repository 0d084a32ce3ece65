//! Converts messages to the form that vendors with strict roles need: system first, then user and assistant in turn,
//! starting with the user.
//!
//! A prompt can have system messages anywhere. Those at the start stay system messages. Later ones (the state of the
//! world, a note, the last instruction) keep their place as user messages in square brackets. Players write
//! out-of-story text like that themselves, and it depends on no language. Consecutive messages of one role become parts
//! of one turn, separated by a blank line. They stay separate parts, so that the vendor's cache recognizes them in the
//! next prompt.

use super::{Request, RequestMessage, RequestRole};

/// The first user message of a story that begins with the assistant.
pub(super) const OPENING_MESSAGE: &str = "[Begin]";

/// The instruction to continue, for models that reject a prefill.
pub(super) const CONTINUE_INSTRUCTION: &str =
    "[Your last message is not finished. Go on from exactly where it breaks off, and repeat nothing of it.]";

/// A prompt with alternating roles.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlternatingPrompt {
    /// The system messages at the start.
    pub system: Vec<AlternatingTurnPart>,
    /// User and assistant in turn, starting with the user; never empty.
    pub turns: Vec<AlternatingTurn>,
}

/// Consecutive messages of one role.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlternatingTurn {
    pub is_assistant: bool,
    /// The messages; never empty.
    pub parts: Vec<AlternatingTurnPart>,
}

/// One message inside a turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlternatingTurnPart {
    /// The text. All but the first part start with a blank line.
    pub text: String,
    /// Whether the prompt up to here is expected to stay the same.
    pub is_cache_breakpoint: bool,
}

/// Converts the messages of a request to alternating roles.
pub(super) fn alternate(request: &Request) -> AlternatingPrompt {
    let mut prompt = AlternatingPrompt { system: Vec::new(), turns: Vec::new() };
    let messages: Vec<(usize, &RequestMessage)> =
        request.messages.iter().enumerate().filter(|(_, message)| !message.content.trim().is_empty()).collect();
    let edge =
        messages.iter().filter(|(index, _)| *index < request.cacheable_messages).map(|(index, _)| *index).next_back();
    for (index, message) in messages {
        let is_edge = edge == Some(index);
        match message.role {
            RequestRole::System if prompt.turns.is_empty() => push_part(&mut prompt.system, &message.content, is_edge),
            RequestRole::System => prompt.push_message(false, &format!("[{}]", message.content), is_edge),
            RequestRole::User => prompt.push_message(false, &message.content, is_edge),
            RequestRole::Assistant => prompt.push_message(true, &message.content, is_edge),
        }
    }
    if prompt.turns.first().is_none_or(|turn| turn.is_assistant) {
        let opening = AlternatingTurnPart { text: OPENING_MESSAGE.to_owned(), is_cache_breakpoint: false };
        prompt.turns.insert(0, AlternatingTurn { is_assistant: false, parts: vec![opening] });
    }
    prompt
}

impl AlternatingPrompt {
    fn push_message(&mut self, is_models: bool, text: &str, is_edge: bool) {
        match self.turns.last_mut().filter(|turn| turn.is_assistant == is_models) {
            Some(turn) => push_part(&mut turn.parts, text, is_edge),
            None => {
                let mut turn = AlternatingTurn { is_assistant: is_models, parts: Vec::new() };
                push_part(&mut turn.parts, text, is_edge);
                self.turns.push(turn);
            }
        }
    }
}

fn push_part(parts: &mut Vec<AlternatingTurnPart>, text: &str, is_edge: bool) {
    let text = if parts.is_empty() { text.to_owned() } else { format!("\n\n{text}") };
    parts.push(AlternatingTurnPart { text, is_cache_breakpoint: is_edge });
}

/// Returns whether the request ends with a prefill. After tool calls it does not.
pub(super) fn has_prefill(request: &Request) -> bool {
    request.rounds.is_empty() && request.messages.last().is_some_and(|last| last.role == RequestRole::Assistant)
}

/// Replaces a prefill by an instruction to continue, for models that reject a prefill.
pub(super) fn with_continue_instruction(request: &Request) -> Request {
    let mut asked = request.clone();
    if has_prefill(request) {
        asked.messages.push(RequestMessage {
            role: RequestRole::User,
            name: None,
            content: CONTINUE_INSTRUCTION.to_owned(),
        });
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(stable: usize, messages: &[(RequestRole, &str)]) -> Request {
        let message = |(role, content): &(RequestRole, &str)| RequestMessage {
            role: *role,
            name: None,
            content: (*content).into(),
        };
        Request { messages: messages.iter().map(message).collect(), cacheable_messages: stable, ..Request::default() }
    }

    /// Shows a prompt, one turn per line: `S` system, `U` user, `M` assistant, `|` between parts, `*` the cache
    /// breakpoint.
    fn format_turns(request: &Request) -> Vec<String> {
        let prompt = alternate(request);
        let parts = |parts: &[AlternatingTurnPart]| {
            let texts = parts.iter().map(|part| part.text.clone() + if part.is_cache_breakpoint { "*" } else { "" });
            texts.collect::<Vec<_>>().join("|").replace('\n', "/")
        };
        let system = (!prompt.system.is_empty()).then(|| format!("S {}", parts(&prompt.system)));
        let turns = prompt
            .turns
            .iter()
            .map(|turn| format!("{} {}", if turn.is_assistant { 'M' } else { 'U' }, parts(&turn.parts)));
        system.into_iter().chain(turns).collect()
    }

    use RequestRole::{Assistant as A, System as S, User as U};

    /// S4-35: whatever the messages are, the user is first, roles alternate, and nothing is empty.
    #[test]
    fn alternation_user_first_and_roles_alternate() {
        let check = |messages: &[(RequestRole, &str)], expected: &[&str]| {
            assert_eq!(format_turns(&request(0, messages)), expected)
        };
        check(
            &[(S, "card"), (S, "more"), (A, "Hello."), (U, "Hi.")],
            &["S card|//more", "U [Begin]", "M Hello.", "U Hi."],
        );
        check(
            &[(S, "card"), (U, "Hi."), (S, "hp: 3"), (U, "On."), (S, "Be brief.")],
            &["S card", "U Hi.|//[hp: 3]|//On.|//[Be brief.]"],
        );
        check(&[(U, "Hi."), (A, "a"), (A, " "), (A, "b"), (U, "\n")], &["U Hi.", "M a|//b"]);
        check(&[(S, "card")], &["S card", "U [Begin]"]);
        check(&[], &["U [Begin]"]);
    }

    #[test]
    fn alternation_cache_breakpoint_is_last_stable_message() {
        let messages = [(S, "card"), (U, "Hi."), (A, "Yes?"), (U, ""), (S, "hp: 3"), (U, "On.")];
        for (stable, expected) in [
            (0, ["S card", "U Hi.", "M Yes?", "U [hp: 3]|//On."]),
            (1, ["S card*", "U Hi.", "M Yes?", "U [hp: 3]|//On."]),
            (3, ["S card", "U Hi.", "M Yes?*", "U [hp: 3]|//On."]),
            (4, ["S card", "U Hi.", "M Yes?*", "U [hp: 3]|//On."]),
            (99, ["S card", "U Hi.", "M Yes?", "U [hp: 3]|//On.*"]),
        ] {
            assert_eq!(format_turns(&request(stable, &messages)), expected, "{stable}");
        }
    }

    #[test]
    fn alternation_no_prefill_adds_continue_instruction() {
        let begun = request(0, &[(U, "Hi."), (A, "She lights")]);
        assert!(has_prefill(&begun));
        let asked = with_continue_instruction(&begun);
        assert_eq!(
            asked.messages.last().map(|last| (last.role, last.content.as_str())),
            Some((U, CONTINUE_INSTRUCTION))
        );
        assert_eq!(with_continue_instruction(&asked), asked);
    }
}
