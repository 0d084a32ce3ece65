//! The request for a summary. It is not part of the story.

use clotho_core::tree::Role;

use super::{OutgoingMessage, PromptLine, own_name::named_text};

const SUMMARY_INSTRUCTION: &str = "You sum up a part of a story for whoever goes on telling it. Keep what later events may depend on: who did, \
                       said, promised, learnt, gained and lost what, where they are and how they stand to each other. Leave \
                       out how it was told. Write plain prose in the past tense, in the language of the text, a tenth of its \
                       length or less, and nothing besides.";

/// Builds the request for a summary of messages, each with its speaker. The messages go into a user message, because
/// every server accepts one.
pub fn summary_messages(lines: &[PromptLine]) -> Vec<OutgoingMessage> {
    let said = |line: &PromptLine| match &line.name {
        Some(name) => named_text(line.role, name, &line.text),
        None => line.text.clone(),
    };
    let told: Vec<String> = lines.iter().map(said).collect();
    let sent = |role: Role, text: String| OutgoingMessage { role, name: None, text };
    vec![sent(Role::System, SUMMARY_INSTRUCTION.to_owned()), sent(Role::User, told.join("\n\n"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S4-35: the texts go into a user message, because every server accepts one. No name is doubled.
    #[test]
    fn summary_request_instruction_comes_last() {
        let line = |role, name: &str, text: &str| PromptLine { role, name: Some(name.into()), text: text.into() };
        let sent = summary_messages(&[line(Role::User, "Ann", "Hi."), line(Role::Assistant, "Rin", "Rin: Hello.")]);
        assert_eq!(sent.iter().map(|sent| sent.role).collect::<Vec<_>>(), [Role::System, Role::User]);
        assert_eq!(sent.last().map(|last| last.text.as_str()), Some("Ann: Hi.\n\nRin: Hello."));
    }
}
