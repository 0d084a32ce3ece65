//! State that all readers keep between chunks.

use super::{Frame, ToolCall, error_text::ErrorScrubber};
use std::collections::BTreeMap;

/// Maximum number of tool calls kept per reply.
const MAX_CALLS: usize = 64;

/// Maximum bytes of a tool call's arguments. The rest is dropped, which makes them invalid JSON.
const MAX_ARGUMENTS: usize = 256 * 1024;

/// The name of the answering model.
#[derive(Debug, Default)]
pub(super) struct ModelNameTracker(String);

impl ModelNameTracker {
    /// Returns a frame if the name has changed.
    pub(super) fn update(&mut self, model: &str, scrub: &ErrorScrubber) -> Option<Frame> {
        if model.is_empty() || *model == self.0 {
            return None;
        }
        model.clone_into(&mut self.0);
        Some(Frame::Model(scrub.clean(model)))
    }
}

/// Assembles tool calls from their parts.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler(BTreeMap<u64, ToolCall>);

impl ToolCallAssembler {
    /// Adds a part to the call with this number.
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

    /// Returns all calls in the order of their numbers. Calls without a name are dropped.
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
