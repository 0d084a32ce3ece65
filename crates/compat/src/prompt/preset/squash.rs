//! Joins neighbouring system messages.

use super::{MessageSource, PromptMessage};
use clotho_core::tree::Role;

pub(super) fn squash_system_messages(messages: Vec<PromptMessage>) -> Vec<PromptMessage> {
    let mut out: Vec<PromptMessage> = Vec::with_capacity(messages.len());
    for message in messages {
        match out.last_mut().filter(|last| may_join(last) && may_join(&message)) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(&message.text);
                last.sources.extend(message.sources);
            }
            None => out.push(message),
        }
    }
    out
}

/// Returns whether a message may be joined: an unnamed system message that is no separator (`newChat`, `newExample`).
fn may_join(message: &PromptMessage) -> bool {
    let separates =
        |from: &MessageSource| matches!(from, MessageSource::Part(id) if id == "newChat" || id == "newExample");
    message.role == Role::System && message.name.is_none() && !message.sources.iter().any(separates)
}
