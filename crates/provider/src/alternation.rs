//! The form that vendors with turns demand: instructions apart, then the player and the model in turn, the player first.
//!
//! A prompt of ours may say instructions anywhere. Those at its beginning stay instructions. A later one (the state of the
//! world, a note, the last word to the model) keeps its place and becomes the player's, in square brackets: that is how
//! players themselves speak out of the story, and it needs no language. Neighbours of one role are parts of one turn with a
//! blank line between them; each stays a part of its own, so that what was sent before is found again by the vendor's cache.

use super::{Request, RequestMessage, RequestRole};

/// What the player says where a story begins with the model's words: vendors want the player to begin.
pub(super) const OPENING_MESSAGE: &str = "[Begin]";

/// What a model is told that cannot be handed the beginning of its own turn.
pub(super) const CONTINUE_INSTRUCTION: &str =
    "[Your last message is not finished. Go on from exactly where it breaks off, and repeat nothing of it.]";

/// A prompt in turns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlternatingPrompt {
    /// Instructions before everything else.
    pub system: Vec<AlternatingTurnPart>,
    /// The player and the model in turn; never empty, and the player begins.
    pub turns: Vec<AlternatingTurn>,
}

/// What one of them says without the other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlternatingTurn {
    /// Whether the model speaks.
    pub is_assistant: bool,
    /// What is said; never empty.
    pub parts: Vec<AlternatingTurnPart>,
}

/// One message inside a turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AlternatingTurnPart {
    /// The text, with the blank line before it where it is not the first.
    pub text: String,
    /// Up to here the prompt is expected to stay as it is.
    pub is_cache_breakpoint: bool,
}

/// The messages of a request in turns.
pub(super) fn alternate(request: &Request) -> AlternatingPrompt {
    let mut made = AlternatingPrompt { system: Vec::new(), turns: Vec::new() };
    let said: Vec<(usize, &RequestMessage)> =
        request.messages.iter().enumerate().filter(|(_, message)| !message.content.trim().is_empty()).collect();
    let edge =
        said.iter().filter(|(index, _)| *index < request.cacheable_messages).map(|(index, _)| *index).next_back();
    for (index, message) in said {
        let is_edge = edge == Some(index);
        match message.role {
            RequestRole::System if made.turns.is_empty() => push_part(&mut made.system, &message.content, is_edge),
            RequestRole::System => made.push_message(false, &format!("[{}]", message.content), is_edge),
            RequestRole::User => made.push_message(false, &message.content, is_edge),
            RequestRole::Assistant => made.push_message(true, &message.content, is_edge),
        }
    }
    if made.turns.first().is_none_or(|turn| turn.is_assistant) {
        let opening = AlternatingTurnPart { text: OPENING_MESSAGE.to_owned(), is_cache_breakpoint: false };
        made.turns.insert(0, AlternatingTurn { is_assistant: false, parts: vec![opening] });
    }
    made
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

/// Whether the request hands the model the beginning of its own turn. After tools were called it is the player's again.
pub(super) fn has_prefill(request: &Request) -> bool {
    request.rounds.is_empty() && request.messages.last().is_some_and(|last| last.role == RequestRole::Assistant)
}

/// The same request for a model that cannot be handed the beginning of its own turn: it is asked to go on.
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

    /// As one text a line: `S` instructions, `U` the player, `M` the model, `|` between parts, `*` the edge.
    fn shown(request: &Request) -> Vec<String> {
        let made = alternate(request);
        let parts = |parts: &[AlternatingTurnPart]| {
            let texts = parts.iter().map(|part| part.text.clone() + if part.is_cache_breakpoint { "*" } else { "" });
            texts.collect::<Vec<_>>().join("|").replace('\n', "/")
        };
        let system = (!made.system.is_empty()).then(|| format!("S {}", parts(&made.system)));
        let turns = made
            .turns
            .iter()
            .map(|turn| format!("{} {}", if turn.is_assistant { 'M' } else { 'U' }, parts(&turn.parts)));
        system.into_iter().chain(turns).collect()
    }

    use RequestRole::{Assistant as A, System as S, User as U};

    /// S4-35: whatever the messages are, the player begins, roles take turns, nothing is empty.
    #[test]
    fn alternation_user_first_and_roles_alternate() {
        let check =
            |messages: &[(RequestRole, &str)], expected: &[&str]| assert_eq!(shown(&request(0, messages)), expected);
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
            assert_eq!(shown(&request(stable, &messages)), expected, "{stable}");
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
