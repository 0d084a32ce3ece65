//! What the frames of a stream tell about its end, for servers that give no finish reason.

use super::Frame;

/// What has arrived, as far as it tells whether the reply is complete.
#[derive(Debug, Default)]
pub(super) struct StreamEnd {
    has_content: bool,
    has_reason: bool,
    /// Usage came together with content, so the server reports it in each chunk.
    counts_in_each_chunk: bool,
    /// Usage came after the content, as servers do at the end.
    counts_after_content: bool,
}

impl StreamEnd {
    /// Notes the frames of one chunk.
    pub(super) fn note(&mut self, frames: &[Frame]) {
        let is_content = |frame: &Frame| matches!(frame, Frame::Text(_) | Frame::Reasoning(_) | Frame::ToolCall(_));
        let has_usage = frames.iter().any(|frame| matches!(frame, Frame::Usage(_)));
        if frames.iter().any(is_content) {
            self.has_content = true;
            self.counts_in_each_chunk |= has_usage;
            self.counts_after_content = false;
        } else {
            self.counts_after_content |= has_usage && self.has_content;
        }
        self.has_reason |= frames.iter().any(|frame| matches!(frame, Frame::Finish(_)));
    }

    /// Returns whether the usage shows that the server has ended the reply.
    pub(super) fn is_normal(&self) -> bool {
        self.counts_after_content && !self.counts_in_each_chunk
    }

    /// Returns whether there is content, and nothing tells why it ended.
    pub(super) fn is_open(&self) -> bool {
        self.has_content && !self.has_reason && !self.is_normal()
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;
    use crate::Usage;

    #[test]
    fn stream_end_usage_after_content_is_normal() {
        let (text, usage) = (Frame::Text("a".into()), Frame::Usage(Usage::default()));
        let end = |chunks: &[&[Frame]]| {
            let mut end = StreamEnd::default();
            chunks.iter().for_each(|chunk| end.note(chunk));
            (end.is_normal(), end.is_open())
        };
        assert_eq!(end(&[]), (false, false));
        assert_eq!(end(&[slice::from_ref(&text)]), (false, true));
        assert_eq!(end(&[slice::from_ref(&text), slice::from_ref(&usage)]), (true, false));
        assert_eq!(end(&[slice::from_ref(&usage), slice::from_ref(&text)]), (false, true), "a count at the start");
        assert_eq!(
            end(&[&[text.clone(), usage.clone()], slice::from_ref(&usage)]),
            (false, true),
            "a count in each chunk"
        );
        assert_eq!(end(&[&[text], &[Frame::Finish(crate::FinishReason::Stop)]]), (false, false));
    }
}
