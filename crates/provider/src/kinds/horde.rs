//! The AI Horde, a queue of volunteers' machines: `POST …/api/v2/generate/text/async` makes a job, and `…/status/ID` has
//! its place in the queue and then the reply. `GET …/api/v2/status/models` lists the models.
//!
//! The prompt is one text, made by the endpoint's template. Without a key, the one of anonymous users is sent. There is
//! no stream, no usage and no finish reason. Workers send the stop string with the text, so it is cut here.

use crate::{
    Endpoint, Frame, ModelInfo, ProviderFailure, Request,
    dialect::{ChunkReader, ChunkStatus, ProviderDialect},
    error_report,
    error_text::ErrorScrubber,
    job_queue::{JobQueue, JobStatus},
    json::{count_at, strip_nul, text},
    models,
    parameter_names::ParameterDialect,
    params,
    stream_state::ModelNameTracker,
};
use reqwest::Url;
use serde_json::{Map, Value};

/// The key of everybody who has none.
const ANONYMOUS_KEY: &str = "0000000000";

/// Says which program asks, as the server wants: name, version and contact.
const HEADERS: [(&str, &str); 1] = [("client-agent", concat!("Clotho:", env!("CARGO_PKG_VERSION"), ":unknown"))];

/// Parameters of other servers that this one cannot use.
const OMITTED_PARAMS: [&str; 13] = [
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "user",
    "tools",
    "tool_choice",
    "response_format",
    "reasoning_effort",
    "cache_control",
    "usage",
];

/// Our names and the server's.
const PARAM_NAMES: [(&str, &str); 7] = [
    ("stop", "stop_sequence"),
    ("max_completion_tokens", "max_length"),
    ("max_tokens", "max_length"),
    ("repetition_penalty", "rep_pen"),
    ("repeat_penalty", "rep_pen"),
    ("typical_p", "typical"),
    ("num_ctx", "max_context_length"),
];

/// Fields beside the parameters, which choose the workers.
const JOB_FIELDS: [&str; 5] = ["trusted_workers", "slow_workers", "workers", "worker_blacklist", "validated_backends"];

/// The AI Horde dialect.
pub(super) struct HordeDialect;

impl ProviderDialect for HordeDialect {
    fn name(&self) -> &'static str {
        "horde"
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::Horde
    }

    fn reply_url(&self, endpoint: &Endpoint, _model: &str) -> Result<Url, ProviderFailure> {
        url(endpoint, &["generate", "text", "async"])
    }

    fn whole_reply_request(&self, _: &Request, _: &Endpoint) -> Result<Option<(Url, Value)>, ProviderFailure> {
        Ok(None)
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
        for name in JOB_FIELDS {
            body.extend(params.shift_remove(name).map(|value| (name.to_owned(), value)));
        }
        let mut job = Map::new();
        job.insert("n".into(), 1.into());
        job.insert("stop_sequence".into(), stops.into());
        job.extend(request.context.map(|context| ("max_context_length".to_owned(), context.into())));
        job.extend(params);
        body.insert("params".into(), job.into());
        body.insert("models".into(), vec![request.model.as_str()].into());
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params::merge(request, endpoint, &OMITTED_PARAMS)
    }

    fn param_names(&self) -> &'static [(&'static str, &'static str)] {
        &PARAM_NAMES
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("apikey", "")
    }

    fn anonymous_key(&self) -> Option<&'static str> {
        Some(ANONYMOUS_KEY)
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &HEADERS
    }

    fn job_queue(&self) -> Option<&'static dyn JobQueue> {
        Some(&HordeDialect)
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        Box::new(HordeReader::default())
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        let mut url = url(endpoint, &["status", "models"])?;
        url.query_pairs_mut().append_pair("type", "text");
        Ok(vec![url])
    }

    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        models::parse(listed.first()?)
    }

    fn is_text_completion(&self) -> bool {
        true
    }

    fn context_size(&self, params: &Map<String, Value>) -> Option<u64> {
        params.get("max_context_length").or_else(|| params.get("num_ctx"))?.as_u64()
    }
}

/// Returns a URL of the API, whatever part of its prefix the address has.
fn url(endpoint: &Endpoint, path: &[&str]) -> Result<Url, ProviderFailure> {
    let mut base_url = endpoint.base_url.trim_end_matches('/');
    for ending in ["/v2", "/api"] {
        base_url = base_url.strip_suffix(ending).unwrap_or(base_url);
    }
    Endpoint { base_url: base_url.to_owned(), ..endpoint.clone() }.url(&[&["api", "v2"], path].concat())
}

impl JobQueue for HordeDialect {
    fn job_id(&self, answer: &Value) -> Option<String> {
        text(answer, "id").map(str::to_owned)
    }

    fn job_url(&self, endpoint: &Endpoint, id: &str) -> Result<Url, ProviderFailure> {
        url(endpoint, &["generate", "text", "status", id])
    }

    fn status(&self, answer: &Value, scrub: &ErrorScrubber) -> Result<JobStatus, ProviderFailure> {
        let is = |name: &str| answer.get(name).and_then(Value::as_bool);
        let failed =
            |words: &str| ProviderFailure::Failed { status: None, words: scrub.clean(words), retry_after: None };
        if is("faulted") == Some(true) {
            return Err(failed(text(answer, "message").unwrap_or("the job failed on the worker")));
        }
        if is("done") == Some(true) {
            return Ok(JobStatus::Done);
        }
        let is_begun = count_at(answer, &["/processing"]).unwrap_or_default() > 0;
        if is("is_possible") == Some(false) && !is_begun {
            return Err(failed("no worker has this model, or a context and a reply of this length, at present"));
        }
        let place = count_at(answer, &["/queue_position"]).and_then(|place| usize::try_from(place).ok());
        Ok(place.filter(|place| *place > 0 && !is_begun).map_or(JobStatus::Running, JobStatus::Queued))
    }

    /// Cuts the texts at the first stop string.
    fn reply(&self, mut answer: Value, sent: &Value) -> Value {
        let stops: Vec<&str> = sent
            .pointer("/params/stop_sequence")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for generation in answer.get_mut("generations").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(words)) = generation.get_mut("text")
                && let Some(at) = stops.iter().filter_map(|stop| words.find(stop)).min()
            {
                words.truncate(at);
            }
        }
        answer
    }
}

/// Reads the response of a job that is done.
#[derive(Debug, Default)]
struct HordeReader {
    model: ModelNameTracker,
}

impl ChunkReader for HordeReader {
    fn read(
        &mut self,
        chunk: &Value,
        scrub: &ErrorScrubber,
        frames: &mut Vec<Frame>,
    ) -> Result<ChunkStatus, ProviderFailure> {
        let generations = chunk.get("generations").and_then(Value::as_array);
        if let Some(generation) = generations.and_then(|all| all.first()) {
            frames.extend(text(generation, "model").and_then(|model| self.model.update(model, scrub)));
            let words = text(generation, "text").filter(|words| !words.is_empty());
            frames.extend(words.map(|words| Frame::Text(strip_nul(words))));
        } else if let Some(error) = error_report::error_of(chunk) {
            return Err(error_report::failure_of(error, scrub));
        }
        Ok(ChunkStatus { recognised: generations.is_some(), finished: generations.is_some(), done: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestMessage, RequestRole};
    use serde_json::json;

    #[test]
    fn horde_body_matches_wire_format() {
        let params = json!({"max_tokens": 100, "temperature": 0.7, "stop": ["Ann:"], "seed": 7, "min_p": 0.1,
            "repetition_penalty": 1.1, "trusted_workers": true});
        let request = Request {
            model: "koboldcpp/M".into(),
            messages: vec![RequestMessage { role: RequestRole::User, name: None, content: "Hi.".into() }],
            params: params.as_object().unwrap().clone(),
            context: Some(4096),
            ..Request::default()
        };
        let endpoint = Endpoint::new("a", "https://aihorde.net/api");
        let expected = json!({"prompt": "<|im_start|>user\nHi.<|im_end|>\n<|im_start|>assistant\n",
            "trusted_workers": true, "params": {"n": 1, "stop_sequence": ["Ann:", "<|im_end|>", "<|im_start|>"],
            "max_context_length": 4096, "temperature": 0.7, "min_p": 0.1, "max_length": 100, "rep_pen": 1.1},
            "models": ["koboldcpp/M"]});
        assert_eq!(HordeDialect.body(&request, &endpoint), expected);
        for base in ["https://aihorde.net", "https://aihorde.net/api", "https://aihorde.net/api/v2/"] {
            let endpoint = Endpoint::new("a", base);
            let url = HordeDialect.reply_url(&endpoint, "m").unwrap();
            assert_eq!(url.as_str(), "https://aihorde.net/api/v2/generate/text/async");
            let url = HordeDialect.job_url(&endpoint, "a/b").unwrap();
            assert_eq!(url.as_str(), "https://aihorde.net/api/v2/generate/text/status/a%2Fb");
        }
    }

    #[test]
    fn horde_status_of_a_job_is_read() {
        let status =
            |answer: Value| HordeDialect.status(&answer, &ErrorScrubber::default()).map_err(|error| error.code());
        for (answer, expected) in [
            (json!({"waiting": 1, "queue_position": 3, "done": false, "is_possible": true}), Ok(JobStatus::Queued(3))),
            (json!({"processing": 1, "queue_position": 0, "done": false}), Ok(JobStatus::Running)),
            (json!({"waiting": 1, "queue_position": 3, "is_possible": false}), Err("provider_failed")),
            (json!({"faulted": true, "done": false}), Err("provider_failed")),
            (json!({"done": true, "generations": []}), Ok(JobStatus::Done)),
        ] {
            assert_eq!(status(answer.clone()), expected, "{answer}");
        }
    }

    #[test]
    fn horde_reply_is_cut_at_the_first_stop_string() {
        let sent = json!({"params": {"stop_sequence": ["Ann:", "<|im_end|>"]}});
        let answer = json!({"done": true, "generations": [{"text": "She waits.<|im_end|>\nAnn: So?", "model": "M"}]});
        let reply = HordeDialect.reply(answer, &sent);
        let mut frames = Vec::new();
        HordeReader::default().read(&reply, &ErrorScrubber::default(), &mut frames).unwrap();
        assert_eq!(frames, [Frame::Model("M".into()), Frame::Text("She waits.".into())]);
    }

    #[test]
    fn horde_model_list_has_names() {
        let models =
            HordeDialect.parse_models(&[json!([{"name": "koboldcpp/M", "count": 2, "type": "text"}])]).unwrap();
        assert_eq!(models[0].id, "koboldcpp/M");
    }
}
