//! What the readers of every kind remember between two chunks.

use super::{Frame, ToolCall, error_text::ErrorScrubber};
use std::collections::BTreeMap;

/// So many tools are kept of one reply.
const MAX_CALLS: usize = 64;

/// Bytes of the arguments of one tool; what is beyond is left out, and then they are no JSON any more.
const MAX_ARGUMENTS: usize = 256 * 1024;

/// The model that answers.
#[derive(Debug, Default)]
pub(super) struct ModelNameTracker(String);

impl ModelNameTracker {
    /// A frame where the name is another than before.
    pub(super) fn update(&mut self, model: &str, scrub: &ErrorScrubber) -> Option<Frame> {
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
    pub(super) fn push_delta(&mut self, index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) {
        if self.0.len() >= MAX_CALLS && !self.0.contains_key(&index) {
            return;
        }
        let call = self.0.entry(index).or_default();
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            id.clone_into(&mut call.id);
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            name.clone_into(&mut call.name);
        }
        let room = MAX_ARGUMENTS.saturating_sub(call.arguments.len());
        call.arguments.push_str(arguments.get(..arguments.floor_char_boundary(room)).unwrap_or_default());
    }

    /// Everything that has come, in the order of the numbers. What has no name is no call.
    pub(super) fn finish(&mut self) -> Vec<Frame> {
        let calls = std::mem::take(&mut self.0).into_values();
        calls.filter(|call| !call.name.is_empty()).map(Frame::ToolCall).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_call_assembler_many_calls_stays_within_limits() {
        let mut calls = ToolCallAssembler::default();
        (0..1000).for_each(|index| calls.push_delta(index, None, Some("f"), ""));
        calls.push_delta(0, None, None, &"夜".repeat(MAX_ARGUMENTS));
        calls.push_delta(0, None, None, "more");
        let taken = calls.finish();
        assert_eq!(taken.len(), MAX_CALLS);
        let Frame::ToolCall(first) = &taken[0] else { panic!("{taken:?}") };
        assert!(first.arguments.len() <= MAX_ARGUMENTS && first.arguments.starts_with('夜'));
        assert_eq!(calls.finish(), []);
    }

    #[test]
    fn model_name_tracker_change_emits_frame() {
        let (mut named, scrub) = (ModelNameTracker::default(), ErrorScrubber::default());
        assert_eq!(named.update("a", &scrub), Some(Frame::Model("a".into())));
        assert_eq!((named.update("a", &scrub), named.update("", &scrub)), (None, None));
        assert_eq!(named.update("b", &scrub), Some(Frame::Model("b".into())));
    }
}
