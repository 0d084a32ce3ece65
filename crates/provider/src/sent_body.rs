//! Reads bodies that a model server has sent, without a connection. The client reads its lists so, and fuzz targets
//! reach the readers of every kind.

use clotho_core::json_scan::JsonBounds;

use super::decode::ReplyDecoder;
use super::error_text::ErrorScrubber;
use super::{Frame, ModelInfo, ProviderFailure, ProviderKind, Request, json};

impl ProviderKind {
    /// Returns the models in the bodies of a server's model lists; `None` if they contain no list. A body that is no
    /// JSON counts as empty.
    pub fn parse_model_lists(self, bodies: &[impl AsRef<[u8]>]) -> Option<Vec<ModelInfo>> {
        let parse = |body: &[u8]| json::parse_bytes(body, JsonBounds::DOCUMENT).unwrap_or_default();
        let lists: Vec<_> = bodies.iter().map(|body| parse(body.as_ref())).collect();
        self.dialect().parse_models(&lists)
    }

    /// Decodes the body of a reply of at most `limit` bytes, in the pieces in which it arrived.
    ///
    /// # Errors
    /// Returns the failure that ends the reply. The frames before it are in `frames`.
    pub fn decode_reply(self, pieces: &[&[u8]], limit: usize, frames: &mut Vec<Frame>) -> Result<(), ProviderFailure> {
        let (dialect, request) = (self.dialect(), Request::default());
        let reader = dialect.reader(&request);
        let mut decoder = ReplyDecoder::new(limit, ErrorScrubber::default(), reader, dialect.framing());
        pieces.iter().try_for_each(|piece| decoder.feed(piece, frames))?;
        decoder.finish(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_body_model_list_is_parsed_without_connection() {
        let openai = ProviderKind::default();
        let ids = |bodies: &[&str]| {
            let models = openai.parse_model_lists(bodies)?;
            Some(models.into_iter().map(|model| model.id).collect::<Vec<_>>())
        };
        assert_eq!(ids(&[r#"{"data": [{"id": "small"}]}"#]), Some(vec!["small".to_owned()]));
        for wrong in ["", "{", "[]", "hello"] {
            assert_eq!(ids(&[wrong]).unwrap_or_default(), [] as [String; 0], "{wrong}");
        }
    }

    #[test]
    fn sent_body_reply_is_decoded_within_limit() {
        let chunk = br#"{"choices": [{"message": {"content": "four"}, "finish_reason": "stop"}]}"#;
        let decode = |limit: usize| {
            let mut frames = Vec::new();
            let ended = ProviderKind::default().decode_reply(&[&chunk[..9], &chunk[9..]], limit, &mut frames);
            (frames.contains(&Frame::Text("four".to_owned())), ended)
        };
        assert_eq!(decode(4), (true, Ok(())));
        assert_eq!(decode(3).1, Err(ProviderFailure::TooLarge { limit: 3 }));
    }
}
