//! KoboldCpp's text completion: `POST …/api/extra/generate/stream`, and `GET …/api/v1/model`.
//!
//! The prompt is one text, made by the endpoint's template. The server reports no usage. Versions before about 1.60 end
//! a stream without a finish reason.

use crate::{
    Endpoint, Frame, ModelInfo, ProviderFailure, Request,
    dialect::{ChunkReader, ChunkStatus, ProviderDialect},
    error_report,
    error_text::ErrorScrubber,
    finish_reason,
    json::{count_at, strip_nul, text},
    parameter_names::ParameterDialect,
    params,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Parameters of other servers that this one cannot use.
const OMITTED_PARAMS: [&str; 8] = [
    "frequency_penalty",
    "logprobs",
    "top_logprobs",
    "user",
    "tools",
    "tool_choice",
    "response_format",
    "reasoning_effort",
];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 8] = [
    ("stop", "stop_sequence"),
    ("max_completion_tokens", "max_length"),
    ("max_tokens", "max_length"),
    ("repetition_penalty", "rep_pen"),
    ("repeat_penalty", "rep_pen"),
    ("typical_p", "typical"),
    ("seed", "sampler_seed"),
    ("num_ctx", "max_context_length"),
];

/// The KoboldCpp dialect.
pub(super) struct KoboldCppDialect;

impl ProviderDialect for KoboldCppDialect {
    fn name(&self) -> &'static str {
        "koboldcpp"
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["api"], &["extra", "generate", "stream"])
    }

    fn whole_reply_request(
        &self,
        request: &Request,
        endpoint: &Endpoint,
    ) -> Result<Option<(Url, Value)>, ProviderFailure> {
        let url = endpoint.url_with_api_prefix(&["api"], &["v1", "generate"])?;
        Ok(Some((url, self.body(request, endpoint))))
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let written = endpoint.template.render(&request.messages);
        let mut params = params::merge(request, endpoint, &OMITTED_PARAMS);
        let mut stops = params::take_stop_strings(&mut params, "stop");
        stops.extend(params::take_stop_strings(&mut params, "stop_sequence"));
        stops.extend(written.stops);
        params::rename(&mut params, &PARAM_NAMES);
        let mut body = Map::new();
        body.insert("prompt".into(), written.text.into());
        body.insert("stop_sequence".into(), stops.into());
        body.insert("trim_stop".into(), true.into());
        // Keeps stories out of the server's console.
        body.insert("quiet".into(), true.into());
        body.extend(request.context.map(|context| ("max_context_length".to_owned(), context.into())));
        body.extend(params);
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params::merge(request, endpoint, &OMITTED_PARAMS)
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::KoboldCpp
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        Box::new(KoboldCppReader::default())
    }

    fn embeddings_url(&self, endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        endpoint.url_with_api_prefix(&["v1"], &["embeddings"])
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        let url = |path: &[&str]| endpoint.url_with_api_prefix(&["api"], path);
        Ok(vec![url(&["v1", "model"])?, url(&["extra", "true_max_context_length"])?, props_url(endpoint)?])
    }

    fn parse_models(&self, models: &[Value]) -> Option<Vec<ModelInfo>> {
        let id = text(models.first()?, "result")?.to_owned();
        let context_length =
            models.get(1).and_then(|length| count_at(length, &["/value"])).filter(|tokens| *tokens > 0);
        let template = models.get(2).and_then(|props| text(props, "chat_template")).map(str::to_owned);
        Some(vec![ModelInfo { id, context_length, template, ..ModelInfo::default() }])
    }

    fn is_text_completion(&self) -> bool {
        true
    }

    fn token_count_request(&self, request: &Request, endpoint: &Endpoint) -> Option<(Url, Value)> {
        let url = endpoint.url_with_api_prefix(&["api"], &["extra", "tokencount"]).ok()?;
        Some((url, json!({"prompt": endpoint.template.render(&request.messages).text})))
    }

    fn parse_token_count(&self, answer: &Value) -> Option<u64> {
        count_at(answer, &["/value"])
    }

    fn context_size(&self, params: &Map<String, Value>) -> Option<u64> {
        params.get("max_context_length").or_else(|| params.get("num_ctx"))?.as_u64()
    }
}

/// Returns the URL of the properties, which newer versions serve like llama.cpp, outside their own API.
fn props_url(endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
    let base_url = endpoint.base_url.trim_end_matches('/');
    let base_url = base_url.strip_suffix("/api").unwrap_or(base_url).to_owned();
    Endpoint { base_url, ..endpoint.clone() }.url(&["props"])
}

/// Reads a stream of tokens, or a whole response.
#[derive(Debug, Default)]
struct KoboldCppReader {
    has_begun: bool,
    /// Whether the server sends finish reasons.
    sends_finish_reason: bool,
}

impl ChunkReader for KoboldCppReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        if let Some(error) = error_report::error_of(chunk).or_else(|| chunk.get("detail")) {
            return Err(error_report::failure_of(error, scrub));
        }
        // A whole response has the same fields inside a list.
        let chunk = chunk.pointer("/results/0").unwrap_or(chunk);
        let words = ["token", "text"].iter().find_map(|name| chunk.get(*name)?.as_str());
        self.has_begun |= words.is_some();
        self.sends_finish_reason |= chunk.get("finish_reason").is_some();
        frames.extend(words.filter(|words| !words.is_empty()).map(|words| Frame::Text(strip_nul(words))));
        let reason = finish_reason::read(text(chunk, "finish_reason").unwrap_or_default(), scrub)?;
        let finished = reason.is_some();
        frames.extend(reason.map(Frame::Finish));
        Ok(ChunkStatus { recognised: words.is_some(), finished, done: false })
    }

    fn may_end_without_finish(&self) -> bool {
        self.has_begun && !self.sends_finish_reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FinishReason, RequestMessage, RequestRole};

    #[test]
    fn koboldcpp_body_matches_wire_format() {
        let params =
            json!({"max_tokens": 100, "temperature": 0.7, "stop": ["Ann:"], "seed": 7, "frequency_penalty": 1});
        let request = Request {
            messages: vec![RequestMessage { role: RequestRole::User, name: None, content: "Hi.".into() }],
            params: params.as_object().unwrap().clone(),
            context: Some(8192),
            ..Request::default()
        };
        let extra = json!({"rep_pen": 1.1, "num_ctx": 4096}).as_object().unwrap().clone();
        let endpoint = Endpoint { extra, ..Endpoint::new("a", "http://a") };
        let expected = json!({"prompt": "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n",
            "stop_sequence": ["Ann:", "<|im_end|>", "<|im_start|>"], "trim_stop": true, "quiet": true,
            "max_context_length": 4096, "rep_pen": 1.1, "temperature": 0.7, "max_length": 100, "sampler_seed": 7});
        assert_eq!(KoboldCppDialect.body(&request, &endpoint), expected);
        assert_eq!(KoboldCppDialect.context_size(&endpoint.extra), Some(4096));
        assert_eq!(KoboldCppDialect.reply_url(&endpoint, "m").unwrap().as_str(), "http://a/api/extra/generate/stream");
    }

    #[test]
    fn koboldcpp_missing_finish_reason_is_accepted_from_old_servers() {
        let read = |chunks: &[Value]| {
            let (mut tokens, mut frames) = (KoboldCppReader::default(), Vec::new());
            let said =
                chunks.iter().map(|chunk| tokens.read(chunk, &ErrorScrubber::default(), &mut frames).unwrap()).last();
            (frames, said.unwrap().finished, tokens.may_end_without_finish())
        };
        let text = |words: &str| Frame::Text(words.into());
        assert_eq!(read(&[json!({"token": "a"}), json!({"token": " b"})]), (vec![text("a"), text(" b")], false, true));
        let news = [json!({"token": "a", "finish_reason": null}), json!({"token": "", "finish_reason": "length"})];
        assert_eq!(read(&news), (vec![text("a"), Frame::Finish(FinishReason::Length)], true, false));
        assert!(!read(&news[..1]).2, "it broke off");
        let whole = json!({"results": [{"text": "a", "finish_reason": "stop"}]});
        assert_eq!(read(&[whole]), (vec![text("a"), Frame::Finish(FinishReason::Stop)], true, false));
    }

    #[test]
    fn koboldcpp_busy_server_returns_failure() {
        let busy = json!({"detail": {"msg": "Server is busy; please try again later.", "type": "service_unavailable"}});
        let failure = KoboldCppReader::default().read(&busy, &ErrorScrubber::default(), &mut Vec::new()).unwrap_err();
        assert!(failure.to_string().contains("busy"), "{failure}");
    }

    #[test]
    fn koboldcpp_model_list_returns_loaded_model() {
        let models =
            KoboldCppDialect.parse_models(&[json!({"result": "koboldcpp/M"}), json!({"value": 8192})]).unwrap();
        assert_eq!((models[0].id.as_str(), models[0].context_length), ("koboldcpp/M", Some(8192)));
        assert_eq!(
            KoboldCppDialect.parse_models(&[json!({"result": "M"}), Value::Null]).unwrap()[0].context_length,
            None
        );
        assert!(KoboldCppDialect.parse_models(&[json!({})]).is_none());
    }
}
