//! Takes the prefill off the start of a reply, for servers that repeat it there.

use super::{
    Frame, ProviderFailure,
    dialect::{ChunkReader, ChunkStatus},
    error_text::ErrorScrubber,
};
use serde_json::Value;

/// Reads with another reader, and drops the prefill if the text of the reply begins with it.
#[derive(Debug)]
pub(super) struct PrefillEchoReader {
    inner: Box<dyn ChunkReader>,
    /// What of the prefill may still come. Empty = nothing is dropped any more.
    expected: String,
    /// What came of it, in case that the reply only begins alike.
    held: String,
}

impl PrefillEchoReader {
    pub(super) fn new(inner: Box<dyn ChunkReader>, prefill: &str) -> Self {
        Self { inner, expected: prefill.to_owned(), held: String::new() }
    }

    /// Returns the text without what repeats the prefill.
    fn take(&mut self, words: String) -> String {
        if self.expected.is_empty() {
            return words;
        }
        if let Some(rest) = self.expected.strip_prefix(words.as_str()) {
            self.expected = rest.to_owned();
            self.held.push_str(&words);
            if self.expected.is_empty() {
                self.held.clear();
            }
            return String::new();
        }
        let rest = words.strip_prefix(self.expected.as_str()).map(str::to_owned);
        self.expected.clear();
        let held = std::mem::take(&mut self.held);
        rest.unwrap_or(held + &words)
    }

    /// Returns what was held back, because nothing more of the prefill comes.
    fn release(&mut self) -> Option<Frame> {
        self.expected.clear();
        Some(std::mem::take(&mut self.held)).filter(|held| !held.is_empty()).map(Frame::Text)
    }

    fn pass(&mut self, read: Vec<Frame>, frames: &mut Vec<Frame>) {
        for frame in read {
            match frame {
                Frame::Text(words) => {
                    let words = self.take(words);
                    frames.extend((!words.is_empty()).then_some(Frame::Text(words)));
                }
                Frame::Finish(_) | Frame::ToolCall(_) | Frame::ProviderState(_) => {
                    frames.extend(self.release());
                    frames.push(frame);
                }
                frame => frames.push(frame),
            }
        }
    }
}

impl ChunkReader for PrefillEchoReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        let mut read = Vec::new();
        let said = self.inner.read(chunk, scrub, &mut read);
        self.pass(read, frames);
        if said.is_err() {
            frames.extend(self.release());
        }
        said
    }

    fn flush(&mut self, frames: &mut Vec<Frame>) {
        frames.extend(self.release());
        self.inner.flush(frames);
    }

    fn may_end_without_finish(&self) -> bool {
        self.inner.may_end_without_finish()
    }

    fn names_events(&self) -> bool {
        self.inner.names_events()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that takes each chunk as a text; null is the end.
    #[derive(Debug)]
    struct TextReader;

    impl ChunkReader for TextReader {
        fn read(
            &mut self,
            chunk: &Value,
            _scrub: &ErrorScrubber,
            frames: &mut Vec<Frame>,
        ) -> Result<ChunkStatus, ProviderFailure> {
            frames.extend(chunk.as_str().map(|words| Frame::Text(words.to_owned())));
            Ok(ChunkStatus::default())
        }
    }

    #[test]
    fn prefill_echo_only_a_whole_repetition_is_dropped() {
        for (pieces, expected) in [
            (&["She lights the lamp."][..], " the lamp."),
            (&["She", " lights", " the lamp."], " the lamp."),
            (&["She li", "ghts the ", "lamp."], " the lamp."),
            (&[" the", " lamp."], " the lamp."),
            (&["She", " sleeps."], "She sleeps."),
            (&["She"], "She"),
            (&["She lights"], ""),
            (&["She lights", "She lights"], "She lights"),
            (&[], ""),
        ] {
            let mut reader = PrefillEchoReader::new(Box::new(TextReader), "She lights");
            let mut frames = Vec::new();
            for piece in pieces {
                reader.read(&Value::from(*piece), &ErrorScrubber::default(), &mut frames).unwrap();
            }
            reader.flush(&mut frames);
            let text: String = frames
                .iter()
                .filter_map(|frame| if let Frame::Text(text) = frame { Some(text.as_str()) } else { None })
                .collect();
            assert_eq!(text, expected, "{pieces:?}");
        }
    }
}
