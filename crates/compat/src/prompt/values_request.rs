//! The request to the values model, which updates values of a story that another model writes.

use super::{OutgoingMessage, PromptLine};
use clotho_core::tree::Role;

/// System prompt of the values model.
const INSTRUCTION: &str = "You keep the values of a story that somebody else tells. You are shown how they stood, and what was said \
    last. Write down what changed because of the last message, one command in a line, between <UpdateVariable> and \
    </UpdateVariable>, and nothing else:\n\
    _.add('path', 3); // why, for an amount that grew or, below zero, shrank\n\
    _.set('path', \"value\"); // why, for everything else\n\
    _.insert('path', \"key\", \"value\"); // why, for something new in a map\n\
    _.remove('path'); // why\n\
    Paths are written as they are listed, with dots in the place of slashes. If nothing changed, write nothing between the tags.";

/// Builds the messages: lore about values, the current state, and the last messages with the reply.
pub fn values_messages(rules: &[String], world: &str, lines: &[PromptLine]) -> Vec<OutgoingMessage> {
    let mut system = INSTRUCTION.to_owned();
    for rule in rules {
        system += &format!("\n\n{}", rule.trim());
    }
    let system = OutgoingMessage { role: Role::System, name: None, text: format!("{system}\n\n{world}") };
    let mut text = String::from("What was said last:");
    for line in lines {
        let name = line.name.as_deref().unwrap_or(line.role.as_str());
        text += &format!("\n\n{name}: {}", line.text.trim());
    }
    vec![system, OutgoingMessage { role: Role::User, name: None, text }]
}
