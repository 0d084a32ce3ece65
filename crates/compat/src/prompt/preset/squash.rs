//! Neighbouring system messages become one.

use super::{MessageSource, PromptMessage};
use clotho_core::tree::Role;

pub(super) fn squash_system_messages(messages: Vec<PromptMessage>) -> Vec<PromptMessage> {
    let mut out: Vec<PromptMessage> = Vec::with_capacity(messages.len());
    for message in messages {
        match out.last_mut().filter(|last| may_join(last) && may_join(&message)) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(&message.text);
                last.from.extend(message.from);
            }
            None => out.push(message),
        }
    }
    out
}

/// What stands between two parts of a request stays by itself.
fn may_join(message: &PromptMessage) -> bool {
    let separates =
        |from: &MessageSource| matches!(from, MessageSource::Part(id) if id == "newChat" || id == "newExample");
    message.role == Role::System && message.name.is_none() && !message.from.iter().any(separates)
}
