//! What a model is asked to do in place of a reply.

use crate::tree::Role;

use super::{Block, Cast, Line, Slot};

/// Asks for the next message of the user's, as the user would write it.
pub fn impersonation(cast: &Cast) -> Block {
    let Cast { user, character, .. } = cast;
    instruction(format!(
        "[Write the next message of {user}: what {user} says and does, in the voice and form of {user}'s messages so far. \
         Leave what {character} and everybody else say or do to them. Answer with that message and nothing else.]"
    ))
}

/// Asks for a summary of messages, which are shown with who said them.
pub fn summary(lines: &[Line]) -> Vec<Block> {
    let said = |line: &Line| match &line.name {
        Some(name) => format!("{name}: {}", line.text),
        None => line.text.clone(),
    };
    let told: Vec<String> = lines.iter().map(said).collect();
    let task = "You sum up a part of a story for whoever goes on telling it. Keep what later events may depend on: who did, \
                said, promised, learnt, gained and lost what, where they are and how they stand to each other. Leave out how \
                it was told. Write plain prose in the past tense, in the language of the text, a tenth of its length or less, \
                and nothing besides.";
    let task = Block { slot: Slot::Main, role: Role::System, text: task.to_owned(), source: "default", left_out: None };
    vec![task, instruction(told.join("\n\n"))]
}

fn instruction(text: String) -> Block {
    Block { slot: Slot::Instruction, role: Role::User, text, source: "default", left_out: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::weave;

    /// S4-35: what is asked for is a user's text, so that every server takes it, and the last one.
    #[test]
    fn what_is_asked_for_comes_last() {
        let cast = Cast { user: "Ann".into(), character: "Rin".into(), ..Cast::default() };
        let line = |role, name: &str, text: &str| Line { role, name: Some(name.into()), text: text.into() };
        let history = [line(Role::User, "Ann", "Hi."), line(Role::Assistant, "Rin", "Hello.")];
        let sent = weave(&[impersonation(&cast)], &history);
        assert_eq!(sent.iter().map(|sent| sent.role).collect::<Vec<_>>(), [Role::User, Role::Assistant, Role::User]);
        assert!(sent.last().is_some_and(|last| last.text.contains("message of Ann") && last.text.contains("what Rin")));
        let sent = weave(&summary(&history), &[]);
        assert_eq!(sent.iter().map(|sent| sent.role).collect::<Vec<_>>(), [Role::System, Role::User]);
        assert_eq!(sent.last().map(|last| last.text.as_str()), Some("Ann: Hi.\n\nRin: Hello."));
    }
}
