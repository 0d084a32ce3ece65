//! Neighbouring system messages become one.

use super::{Message, Source};
use crate::tree::Role;

pub(super) fn squash(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
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
fn may_join(message: &Message) -> bool {
    let separates = |from: &Source| matches!(from, Source::Part(id) if id == "newChat" || id == "newExample");
    message.role == Role::System && message.name.is_none() && !message.from.iter().any(separates)
}
