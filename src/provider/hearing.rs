//! What the readers of every kind remember between two chunks.

use super::{Frame, ToolCall, words::ErrorScrubber};
use std::collections::BTreeMap;

/// So many tools are kept of one reply.
const MOST_CALLS: usize = 64;

/// Bytes of the arguments of one tool; what is beyond is left out, and then they are no JSON any more.
const MOST_ARGUMENTS: usize = 256 * 1024;

/// The model that answers.
#[derive(Debug, Default)]
pub(super) struct ModelNameTracker(String);

impl ModelNameTracker {
    /// A frame where the name is another than before.
    pub(super) fn hear(&mut self, model: &str, scrub: &ErrorScrubber) -> Option<Frame> {
        if model.is_empty() || *model == self.0 {
            return None;
        }
        model.clone_into(&mut self.0);
        Some(Frame::Model(scrub.clean(model)))
    }
}

/// Tools that the model wants called, while they come in.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler(BTreeMap<u64, ToolCall>);

impl ToolCallAssembler {
    /// A piece of the call with this number.
    pub(super) fn hear(&mut self, index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) {
        if self.0.len() >= MOST_CALLS && !self.0.contains_key(&index) {
            return;
        }
        let call = self.0.entry(index).or_default();
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            id.clone_into(&mut call.id);
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            name.clone_into(&mut call.name);
        }
        let room = MOST_ARGUMENTS.saturating_sub(call.arguments.len());
        call.arguments.push_str(arguments.get(..arguments.floor_char_boundary(room)).unwrap_or_default());
    }

    /// Everything that has come, in the order of the numbers. What has no name is no call.
    pub(super) fn take(&mut self) -> Vec<Frame> {
        let calls = std::mem::take(&mut self.0).into_values();
        calls.filter(|call| !call.name.is_empty()).map(Frame::ToolCall).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_bounded() {
        let mut calls = ToolCallAssembler::default();
        (0..1000).for_each(|index| calls.hear(index, None, Some("f"), ""));
        calls.hear(0, None, None, &"夜".repeat(MOST_ARGUMENTS));
        calls.hear(0, None, None, "more");
        let taken = calls.take();
        assert_eq!(taken.len(), MOST_CALLS);
        let Frame::ToolCall(first) = &taken[0] else { panic!("{taken:?}") };
        assert!(first.arguments.len() <= MOST_ARGUMENTS && first.arguments.starts_with('夜'));
        assert_eq!(calls.take(), []);
    }

    #[test]
    fn a_model_is_told_when_it_changes() {
        let (mut named, scrub) = (ModelNameTracker::default(), ErrorScrubber::default());
        assert_eq!(named.hear("a", &scrub), Some(Frame::Model("a".into())));
        assert_eq!((named.hear("a", &scrub), named.hear("", &scrub)), (None, None));
        assert_eq!(named.hear("b", &scrub), Some(Frame::Model("b".into())));
    }
}
