//! llama.cpp's text completion: `POST …/completion`, streamed, and `GET …/v1/models` with `GET …/props`.
//!
//! The prompt is one text, made by the endpoint's template. The server caches prompts by itself and reports cached
//! tokens.

use crate::{
    Endpoint, FinishReason, Frame, ModelInfo, ProviderFailure, Request, Usage,
    dialect::{ChunkReader, ChunkStatus, ProviderDialect},
    error_report,
    error_text::ErrorScrubber,
    finish_reason,
    json::{count_at, strip_nul, text},
    models,
    parameter_names::ParameterDialect,
    params,
    stream_state::ModelNameTracker,
};
use reqwest::Url;
use serde_json::{Map, Value, json};

/// Parameters of other servers that this one cannot use.
const OMITTED_PARAMS: [&str; 8] =
    ["logprobs", "top_logprobs", "user", "tools", "tool_choice", "response_format", "reasoning_effort", "top_a"];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 4] = [
    ("max_completion_tokens", "n_predict"),
    ("max_tokens", "n_predict"),
    ("repetition_penalty", "repeat_penalty"),
    ("rep_pen", "repeat_penalty"),
];

/// The llama.cpp dialect.
pub(super) struct LlamaCppDialect;

impl ProviderDialect for LlamaCppDialect {
    fn name(&self) -> &'static str {
        "llamacpp"
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        endpoint.native_url(&["completion"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let written = endpoint.template.render(&request.messages);
        let mut params = params::merge(request, endpoint, &OMITTED_PARAMS);
        let mut stops = params::take_stop_strings(&mut params, "stop");
        stops.extend(written.stops);
        params::rename(&mut params, &PARAM_NAMES);
        let mut body = Map::new();
        body.insert("prompt".into(), written.text.into());
        body.insert("stream".into(), true.into());
        body.insert("stop".into(), stops.into());
        body.insert("cache_prompt".into(), true.into());
        body.extend(params);
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params::merge(request, endpoint, &OMITTED_PARAMS)
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::LlamaCpp
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        Box::new(LlamaCppReader::default())
    }

    fn embeddings_url(&self, endpoint: &Endpoint) -> Result<Url, ProviderFailure> {
        endpoint.native_url(&["v1", "embeddings"])
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        Ok(vec![endpoint.native_url(&["v1", "models"])?, endpoint.native_url(&["props"])?])
    }

    /// The properties contain the context length of one reply, the list only the model's maximum.
    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        let mut models = models::parse(listed.first()?)?;
        if let Some(context) = listed.get(1).and_then(models::context_length) {
            models.iter_mut().for_each(|model| model.context_length = Some(context));
        }
        let template = listed.get(1).and_then(|props| text(props, "chat_template"));
        if let Some(first) = models.first_mut() {
            first.template = template.map(str::to_owned);
        }
        Some(models)
    }

    fn is_text_completion(&self) -> bool {
        true
    }

    fn token_count_request(&self, request: &Request, endpoint: &Endpoint) -> Option<(Url, Value)> {
        let text = endpoint.template.render(&request.messages).text;
        Some((endpoint.native_url(&["tokenize"]).ok()?, json!({"content": text, "add_special": true})))
    }

    fn parse_token_count(&self, answer: &Value) -> Option<u64> {
        u64::try_from(answer.get("tokens")?.as_array()?.len()).ok()
    }
}

/// Reads a stream of pieces, or a whole response, which has the form of the last piece.
#[derive(Debug, Default)]
struct LlamaCppReader {
    model: ModelNameTracker,
}

impl ChunkReader for LlamaCppReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        if let Some(error) = error_report::error_of(chunk) {
            return Err(error_report::failure_of(error, scrub));
        }
        let is_over = chunk.get("stop") == Some(&Value::Bool(true));
        frames.extend(text(chunk, "model").and_then(|model| self.model.update(model, scrub)));
        frames.extend(text(chunk, "content").map(|words| Frame::Text(strip_nul(words))));
        if is_over {
            frames.extend(finish(chunk, scrub)?.map(Frame::Finish));
            frames.extend(usage(chunk).map(Frame::Usage));
        }
        let recognised = is_over || chunk.get("content").is_some_and(Value::is_string);
        Ok(ChunkStatus { recognised, finished: is_over, done: is_over })
    }
}

/// Newer servers send a word, older ones a flag for each reason.
fn finish(chunk: &Value, scrub: &ErrorScrubber) -> Result<Option<FinishReason>, ProviderFailure> {
    let is = |name: &str| chunk.get(name) == Some(&Value::Bool(true));
    Ok(match finish_reason::read(text(chunk, "stop_type").unwrap_or_default(), scrub)? {
        None if is("stopped_limit") => Some(FinishReason::Length),
        None if is("stopped_eos") || is("stopped_word") => Some(FinishReason::Stop),
        known => known,
    })
}

fn usage(chunk: &Value) -> Option<Usage> {
    let (prompt, completion) = (count_at(chunk, &["/tokens_evaluated"]), count_at(chunk, &["/tokens_predicted"]));
    prompt.or(completion)?;
    Some(Usage {
        prompt: prompt.unwrap_or_default(),
        completion: completion.unwrap_or_default(),
        cached: count_at(chunk, &["/timings/cache_n"]),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestMessage, RequestRole};

    #[test]
    fn llamacpp_body_matches_wire_format() {
        let params = json!({"max_tokens": 100, "temperature": 0.7, "stop": ["Ann:"], "seed": 7, "user": "x"});
        let request = Request {
            messages: vec![RequestMessage { role: RequestRole::User, name: None, content: "Hi.".into() }],
            params: params.as_object().unwrap().clone(),
            ..Request::default()
        };
        let extra = json!({"repetition_penalty": 1.1, "cache_prompt": false}).as_object().unwrap().clone();
        let endpoint = Endpoint { extra, ..Endpoint::new("a", "http://a/v1/") };
        let expected = json!({"prompt": "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n", "stream": true,
            "stop": ["Ann:", "<|im_end|>", "<|im_start|>"], "cache_prompt": false, "temperature": 0.7, "seed": 7,
            "n_predict": 100, "repeat_penalty": 1.1});
        assert_eq!(LlamaCppDialect.body(&request, &endpoint), expected);
        for base in ["http://a/v1/", "http://a/v1", "http://a", "http://a/"] {
            assert_eq!(
                LlamaCppDialect.reply_url(&Endpoint::new("a", base), "m").unwrap().as_str(),
                "http://a/completion"
            );
        }
    }

    #[test]
    fn llamacpp_finish_reason_all_versions_are_parsed() {
        let read = |chunk: Value| {
            let mut frames = Vec::new();
            let said = LlamaCppReader::default().read(&chunk, &ErrorScrubber::default(), &mut frames).unwrap();
            assert!(said.done);
            frames
        };
        for (words, expected) in [
            (json!({"stop_type": "eos"}), Some(FinishReason::Stop)),
            (json!({"stop_type": "word"}), Some(FinishReason::Stop)),
            (json!({"stop_type": "limit"}), Some(FinishReason::Length)),
            (json!({"stopped_limit": true}), Some(FinishReason::Length)),
            (json!({"stopped_eos": true}), Some(FinishReason::Stop)),
            (json!({"stop_type": "none"}), None),
        ] {
            let mut chunk = json!({"content": "", "stop": true});
            chunk.as_object_mut().unwrap().extend(words.as_object().unwrap().clone());
            assert_eq!(read(chunk), expected.map(Frame::Finish).into_iter().collect::<Vec<_>>(), "{words}");
        }
        let counted = read(
            json!({"content": "b", "stop": true, "model": "m", "tokens_evaluated": 30, "tokens_predicted": 4, "timings": {"cache_n": 20}}),
        );
        let usage = Usage { prompt: 30, completion: 4, cached: Some(20), ..Usage::default() };
        assert_eq!(counted, [Frame::Model("m".into()), Frame::Text("b".into()), Frame::Usage(usage)]);
    }

    #[test]
    fn llamacpp_context_length_comes_from_props() {
        let list = json!({"data": [{"id": "m", "meta": {"n_ctx_train": 32768}}]});
        let length = |props: Value| LlamaCppDialect.parse_models(&[list.clone(), props]).unwrap()[0].context_length;
        assert_eq!(length(json!({"default_generation_settings": {"n_ctx": 4096}})), Some(4096));
        assert_eq!(length(Value::Null), Some(32768));
    }
}
