//! Limits the size of incoming WebSocket frames while their bytes arrive.
//!
//! The WebSocket library compares the length of a frame with the limit only after the whole frame has arrived, and
//! buffers it until then. So the frame headers are read here first, and the first header over the limit ends the
//! socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::FromRequest;
use actix_web::HttpRequest;
use actix_web::dev;
use actix_web::error::PayloadError;
use actix_web::web::{Bytes, Payload};
use actix_ws::ProtocolError;
use futures_util::Stream;

/// Wraps a payload so that no frame, and no message of several frames, exceeds `most` bytes. At the first that does,
/// the stream ends after the bytes before it, with an error that [`is_too_long`] recognises.
///
/// # Errors
/// Returns an error if the library rejects its own payload type, which does not happen.
pub async fn limit_frames(most: usize, request: &HttpRequest, bytes: Payload) -> actix_web::Result<Payload> {
    let bytes =
        LimitedPayload { bytes: bytes.into_inner(), heads: FrameHeaderReader::new(most), end: LimitState::Open };
    Payload::from_request(request, &mut dev::Payload::Stream { payload: Box::pin(bytes) }).await
}

/// Returns whether a socket ended because a frame or message was too long.
pub fn is_too_long(error: &ProtocolError) -> bool {
    let is_ours = |error: &io::Error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<PayloadError>());
        matches!(inner, Some(PayloadError::Overflow))
    };
    match error {
        ProtocolError::Overflow => true,
        ProtocolError::Io(error) => is_ours(error),
        _ => false,
    }
}

struct LimitedPayload {
    bytes: dev::Payload,
    heads: FrameHeaderReader,
    end: LimitState,
}

/// The state of the limit.
enum LimitState {
    Open,
    /// The bytes before the frame were passed on. One `Pending` lets the reader parse them before the error.
    Pausing,
    Exceeded,
}

impl Stream for LimitedPayload {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.end {
            LimitState::Open => {}
            LimitState::Pausing => {
                self.end = LimitState::Exceeded;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            LimitState::Exceeded => return Poll::Ready(Some(Err(PayloadError::Overflow))),
        }
        let mut bytes = match ready!(Pin::new(&mut self.bytes).poll_next(cx)) {
            Some(Ok(bytes)) => bytes,
            end => return Poll::Ready(end),
        };
        if let Some(fit) = self.heads.advance(&bytes) {
            bytes.truncate(fit);
            self.end = LimitState::Pausing;
        }
        Poll::Ready(Some(Ok(bytes)))
    }
}

/// Reads frame headers and skips payloads (RFC 6455, 5.2).
struct FrameHeaderReader {
    most: u64,
    /// Bytes of an incomplete header.
    head: Vec<u8>,
    /// Remaining payload bytes of the frame.
    left: u64,
    /// Size of a fragmented message so far, in bytes.
    message: u64,
}

impl FrameHeaderReader {
    fn new(most: usize) -> Self {
        Self { most: u64::try_from(most).unwrap_or(u64::MAX), head: Vec::new(), left: 0, message: 0 }
    }

    /// Processes bytes; `Some(n)` if the frame whose header ends after `n` bytes is too long.
    fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let inside = usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len());
            at += inside;
            self.left = self.left.saturating_sub(u64::try_from(inside).unwrap_or(u64::MAX));
            let Some(byte) = rest.get(inside) else { break };
            at += 1;
            self.head.push(*byte);
            if let Some(frame) = WebSocketFrameHeader::read(&self.head) {
                self.head.clear();
                self.left = frame.length;
                if !self.fits_message(&frame) {
                    return Some(at);
                }
            }
        }
        None
    }

    /// Adds a frame to its message, and returns whether the message still fits.
    fn fits_message(&mut self, frame: &WebSocketFrameHeader) -> bool {
        if frame.is_control {
            return frame.length <= self.most;
        }
        let message = self.message.saturating_add(frame.length);
        self.message = if frame.is_last { 0 } else { message };
        message <= self.most
    }
}

/// A parsed frame header.
struct WebSocketFrameHeader {
    length: u64,
    is_last: bool,
    is_control: bool,
}

impl WebSocketFrameHeader {
    /// Parses a header once it is complete.
    fn read(head: &[u8]) -> Option<Self> {
        let [first, second, more @ ..] = head else { return None };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        let (wide, length) = match second & 0x7f {
            126 => (2, u64::from(u16::from_be_bytes(*more.first_chunk()?))),
            127 => (8, u64::from_be_bytes(*more.first_chunk()?)),
            short => (0, u64::from(short)),
        };
        let is_whole = more.len() == wide + mask;
        is_whole.then_some(Self { length, is_last: first & 0x80 != 0, is_control: first & 0x08 != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a header with a mask for a payload of `length` bytes.
    fn frame_header(first: u8, length: u64) -> Vec<u8> {
        let mut head = vec![first];
        match length {
            0..126 => head.push(0x80 | u8::try_from(length).unwrap()),
            126..0x1_0000 => {
                head.push(0xfe);
                head.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
            _ => {
                head.push(0xff);
                head.extend(length.to_be_bytes());
            }
        }
        head.extend([1, 2, 3, 4]);
        head
    }

    fn frame(first: u8, length: u64) -> Vec<u8> {
        let mut frame = frame_header(first, length);
        // Payload bytes that look like headers of maximum length.
        frame.extend((0..length).map(|_| 0xff));
        frame
    }

    /// Returns after how many bytes the limit is exceeded if bytes arrive in chunks of `piece`.
    fn limit_offset(most: usize, bytes: &[u8], piece: usize) -> Option<usize> {
        let mut heads = FrameHeaderReader::new(most);
        let mut pieces = (0..).zip(bytes.chunks(piece));
        pieces.find_map(|(n, some)| heads.advance(some).map(|at| n * piece + at))
    }

    /// However the bytes are split, frames within the limit pass, and a header over it is refused at its last byte.
    #[test]
    fn frame_limit_oversized_header_is_refused_at_once() {
        let fine = [frame(0x81, 0), frame(0x81, 125), frame(0x82, 126), frame(0x89, 4), frame(0x81, 70_000)].concat();
        // Three frames of one message with a ping in between, then the next message.
        let parts = [frame(0x01, 30_000), frame(0x89, 125), frame(0x00, 30_000), frame(0x80, 40_000)].concat();
        for piece in [1, 2, 3, 7, 1_000, 1 << 20] {
            assert_eq!(limit_offset(100_000, &[fine.clone(), parts.clone(), fine.clone()].concat(), piece), None);
            for long in [100_001, 1 << 20, 1 << 31, 1 << 40, u64::MAX] {
                let bytes = [fine.clone(), frame_header(0x81, long), vec![7; 50]].concat();
                assert_eq!(limit_offset(100_000, &bytes, piece), Some(bytes.len() - 50), "{long} in pieces of {piece}");
            }
            let more = [parts.clone(), frame(0x01, 60_000), frame(0x00, 40_000), frame_header(0x00, 1)].concat();
            assert_eq!(
                limit_offset(100_000, &more, piece),
                Some(more.len()),
                "a message without an end, in pieces of {piece}"
            );
        }
    }
}
