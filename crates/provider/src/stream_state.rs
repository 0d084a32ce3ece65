//! State that all readers keep between chunks.

use super::{Frame, error_text::ErrorScrubber};

/// Maximum bytes of what a server wants back with the results of tools. Without it the server may refuse them.
pub(super) const MAX_STATE_BYTES: usize = 4 << 20;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_name_tracker_change_emits_frame() {
        let (mut named, scrub) = (ModelNameTracker::default(), ErrorScrubber::default());
        assert_eq!(named.update("a", &scrub), Some(Frame::Model("a".into())));
        assert_eq!((named.update("a", &scrub), named.update("", &scrub)), (None, None));
        assert_eq!(named.update("b", &scrub), Some(Frame::Model("b".into())));
    }
}
