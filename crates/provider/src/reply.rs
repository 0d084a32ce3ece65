//! One reply in progress: waits for its concurrency limit, sends the request and reads the response frame by frame.

use super::{
    Endpoint, Frame, ProviderFailure, ProviderKind, Request, RequestRole, TimeoutPhase, Timeouts, alternation,
    breaker::{CircuitBreaker, RequestOrigin},
    decode::ReplyDecoder,
    error_detail::ErrorDetail,
    http::{EndpointHttp, FailedRequest, OutgoingRequest},
    parameter_change::ParameterChange,
    parameter_names::ParameterDialect,
    parameter_rules::{self, LearnedRules, ParameterRule},
    params, refused_parameter,
    retry::RetryBudget,
    running_job::{JobNews, RunningJob},
};
use bytes::Bytes;
use clotho_core::thoughts;
use reqwest::{Response, Url};
use serde_json::{Map, Value};
use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

/// Maximum number of models remembered as rejecting a prefill. Above it, all are forgotten and learned again.
const MAX_NO_PREFILL_MODELS: usize = 256;

/// Maximum number of times that a request is sent again without something that its server refuses.
const MAX_ADAPTATIONS: usize = 8;

/// State shared by all replies of one endpoint.
#[derive(Debug)]
pub(super) struct EndpointState {
    pub(super) http: Arc<EndpointHttp>,
    breaker: CircuitBreaker,
    /// Models that have rejected a prefill.
    no_prefill_models: Mutex<HashSet<String>>,
    /// How the parameters that the server refuses are sent.
    rules: Mutex<LearnedRules>,
}

impl EndpointState {
    pub(super) fn new(kind: ProviderKind, endpoint: Endpoint) -> Self {
        Self {
            http: Arc::new(EndpointHttp::new(kind, endpoint)),
            breaker: CircuitBreaker::default(),
            no_prefill_models: Mutex::default(),
            rules: Mutex::default(),
        }
    }

    /// Returns the names under which parameters are sent.
    pub(super) fn parameter_dialect(&self) -> ParameterDialect {
        self.http.kind.dialect().parameter_dialect(&self.http.endpoint)
    }

    /// Returns the request with its parameters under the names of the server.
    pub(super) fn translate(&self, request: &Request) -> Request {
        let params = self.parameter_dialect().translate(&request.model, &request.params);
        Request { params, ..request.clone() }
    }

    /// Returns the body of a translated request as it is sent, and what was changed in it. `more` are rules of this
    /// request.
    pub(super) fn body(&self, request: &Request, more: &[ParameterRule]) -> (Value, Vec<ParameterChange>) {
        self.apply_rules(request, self.http.kind.dialect().body(request, &self.http.endpoint), more)
    }

    /// Changes a body as the rules for its model say.
    fn apply_rules(&self, request: &Request, body: Value, more: &[ParameterRule]) -> (Value, Vec<ParameterChange>) {
        let mut body = match body {
            Value::Object(body) => body,
            other => return (other, Vec::new()),
        };
        let known = parameter_rules::known_rules(&self.http.endpoint, &request.model, &body);
        let learned = self.rules();
        let rules = known.iter().chain(learned.of(&request.model)).chain(more);
        let changes = parameter_rules::apply(rules, &mut body);
        (Value::Object(body), changes)
    }

    /// Returns the parameters of a request under OpenAI's names as they are sent, and what was changed in them.
    pub(super) fn params(&self, request: &Request) -> (Map<String, Value>, Vec<ParameterChange>) {
        let (_, changes) = self.body(&self.translate(request), &[]);
        (self.changed_params(request, &changes), changes)
    }

    /// Returns the parameters of a request under OpenAI's names, with these changes.
    pub(super) fn changed_params(&self, request: &Request, changes: &[ParameterChange]) -> Map<String, Value> {
        let (dialect, names) = (self.http.kind.dialect(), self.parameter_dialect());
        let mut params = dialect.params(request, &self.http.endpoint);
        let takes = |name: &str| !request.params.contains_key(name) || names.takes(&request.model, name);
        params.retain(|name, _| takes(name));
        // Some are sent in a form for which the kind leaves out our own name.
        let set = request.params.iter().filter(|(name, value)| !value.is_null() && names.knows(name) && takes(name));
        for (name, value) in set {
            params.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        params::remove_unset(&mut params);
        let pairs: Vec<(&str, &str)> = dialect.param_names().iter().copied().chain(names.pairs()).collect();
        parameter_rules::apply_to_params(changes, &pairs, &mut params);
        params
    }

    fn rules(&self) -> MutexGuard<'_, LearnedRules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn no_prefill_models(&self) -> MutexGuard<'_, HashSet<String>> {
        self.no_prefill_models.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reply in progress.
pub(super) struct ReplyStream {
    shared: Arc<EndpointState>,
    request: Request,
    phase: ReplyPhase,
    decoder: ReplyDecoder,
    /// Frames that have arrived but were not yet returned.
    ready: VecDeque<Frame>,
    /// The mark with which the prompt opens a thought. It belongs before the text of the reply.
    open_mark: Option<String>,
    /// Returned after the ready frames, as the last item.
    failure: Option<ProviderFailure>,
    /// Text or reasoning has been returned.
    has_content: bool,
    /// It is asked for once more without a stream, because the stream was empty.
    is_whole: bool,
    /// The cost in the header of the response, for usage without a cost.
    header_cost: Option<f64>,
    /// The breaker admitted it and does not know the outcome yet.
    awaits_breaker: bool,
    /// Its failures do not count for the circuit breaker.
    is_side_call: bool,
    permit: Option<OwnedSemaphorePermit>,
    /// Rules for what the server refused of this request. They are learned when a reply comes.
    rules: Vec<ParameterRule>,
    /// How often the request was sent again without something.
    adaptations: usize,
    /// The retries of the request as it is.
    budget: RetryBudget,
}

enum ReplyPhase {
    Queue,
    Send,
    /// Waits for so long before the request is sent again.
    Pause(Duration),
    /// The server works on a job, or has it in its queue.
    Job(RunningJob),
    Read(Response),
    Done,
}

impl ReplyStream {
    pub(super) fn new(shared: Arc<EndpointState>, request: Request, is_side_call: bool) -> Self {
        let is_refused = alternation::has_prefill(&request) && shared.no_prefill_models().contains(&request.model);
        let request = if is_refused { alternation::with_continue_instruction(&request) } else { request };
        let params = shared.parameter_dialect().translate(&request.model, &request.params);
        let request = Request { params, ..request };
        Self {
            decoder: decoder(&shared.http, &request),
            shared,
            request,
            phase: ReplyPhase::Queue,
            ready: VecDeque::new(),
            open_mark: None,
            failure: None,
            has_content: false,
            is_whole: false,
            header_cost: None,
            awaits_breaker: false,
            is_side_call,
            permit: None,
            rules: Vec::new(),
            adaptations: 0,
            budget: RetryBudget::default(),
        }
    }

    pub(super) async fn next(&mut self) -> Option<Result<Frame, ProviderFailure>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                self.has_content |= matches!(frame, Frame::Text(_) | Frame::Reasoning(_));
                return Some(Ok(self.with_open_mark(frame)));
            }
            if let Some(failure) = self.failure.take() {
                self.release();
                return Some(Err(failure));
            }
            match &mut self.phase {
                ReplyPhase::Queue => self.wait_for_permit().await,
                ReplyPhase::Send => self.send().await,
                ReplyPhase::Pause(wait) => {
                    tokio::time::sleep(*wait).await;
                    self.prepare_request();
                }
                ReplyPhase::Job(job) => {
                    let news = job.next().await;
                    self.accept_job(news);
                }
                ReplyPhase::Read(response) => {
                    let (wait, limit) =
                        next_timeout(&self.shared.http.endpoint.timeouts, self.has_content, self.decoder.is_finished());
                    let piece = self.shared.http.next_chunk(response, wait, limit).await;
                    self.accept(piece);
                }
                ReplyPhase::Done => return None,
            }
        }
    }

    async fn wait_for_permit(&mut self) {
        self.permit = self.shared.http.endpoint.concurrency_limit.acquire().await;
        if self.awaits_breaker {
            // It was admitted, and is sent again.
            self.phase = ReplyPhase::Send;
            return;
        }
        match self.shared.breaker.try_acquire(RequestOrigin::of(&self.request), Instant::now()) {
            Ok(()) => (self.awaits_breaker, self.phase) = (true, ReplyPhase::Send),
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// Puts the mark with which the prompt opens a thought before the first text.
    fn with_open_mark(&mut self, frame: Frame) -> Frame {
        match frame {
            Frame::Text(text) if !text.is_empty() => match self.open_mark.take() {
                Some(mark) => Frame::Text(mark + &text),
                None => Frame::Text(text),
            },
            // The server parts thoughts by itself.
            Frame::Reasoning(_) => {
                self.open_mark = None;
                frame
            }
            frame => frame,
        }
    }

    async fn send(&mut self) {
        let http = &self.shared.http;
        let outgoing = self.outgoing();
        let body = outgoing.as_ref().map(|(_, body)| body.clone()).unwrap_or_default();
        self.open_mark = open_mark(http, &self.request, &body);
        let answered = match outgoing {
            Ok((url, body)) => {
                let ask = OutgoingRequest { url, body: Some(Bytes::from(body.to_string())) };
                http.send_with_retries(&ask, &mut self.budget).await
            }
            Err(failure) => Err(failure.into()),
        };
        match answered {
            Ok(response) => {
                self.header_cost = header_cost(&response);
                let Some(queue) = http.kind.dialect().job_queue() else {
                    self.phase = ReplyPhase::Read(response);
                    return;
                };
                match RunningJob::begin(Arc::clone(http), queue, response, body).await {
                    Ok(job) => self.phase = ReplyPhase::Job(job),
                    Err(failure) => self.fail(failure),
                }
            }
            Err(FailedRequest { failure, .. })
                if failure.refuses_prefill() && alternation::has_prefill(&self.request) =>
            {
                self.retry_without_prefill()
            }
            Err(FailedRequest { failure, detail }) => {
                let is_adapted = detail.is_some_and(|detail| self.adapt(&detail, &failure, &body));
                if !is_adapted {
                    self.fail(failure);
                }
            }
        }
    }

    /// Tells the place of a job in the queue, or decodes its reply.
    fn accept_job(&mut self, news: Result<JobNews, ProviderFailure>) {
        match news {
            Ok(JobNews::Queued(place)) => self.ready.push_back(Frame::Queued { place }),
            Ok(JobNews::Running) => self.ready.push_back(Frame::Queued { place: 0 }),
            Ok(JobNews::Done(reply)) => {
                self.accept(Ok(Some(Bytes::from(reply.to_string()))));
                self.accept(Ok(None));
            }
            Err(failure) => {
                self.phase = ReplyPhase::Done;
                self.fail(failure);
            }
        }
    }

    /// Prepares another request without what the server refused. Returns whether there is anything to change.
    fn adapt(&mut self, detail: &ErrorDetail, failure: &ProviderFailure, body: &Value) -> bool {
        if self.adaptations >= MAX_ADAPTATIONS {
            return false;
        }
        let dialect = self.shared.http.kind.dialect();
        let words = failure.words().unwrap_or_default();
        let refused = refused_parameter::find(detail, body, dialect.required_fields()).into_iter();
        let new: Vec<ParameterRule> = refused
            .map(|refused| ParameterRule { refused, words: words.to_owned() })
            .filter(|rule| !self.rules.iter().any(|known| known.refused == rule.refused))
            .collect();
        if new.is_empty() {
            return false;
        }
        for rule in &new {
            let (provider, model) = (&self.shared.http.endpoint.id, &self.request.model);
            let parameter = &rule.refused.name;
            tracing::info!(provider, model, parameter, "the model server refuses a parameter");
        }
        self.rules.extend(new);
        self.send_again();
        true
    }

    /// Prepares the next request of the same reply.
    fn send_again(&mut self) {
        self.adaptations = self.adaptations.saturating_add(1);
        self.budget = RetryBudget::default();
        self.prepare_request();
    }

    fn prepare_request(&mut self) {
        self.decoder = decoder(&self.shared.http, &self.request);
        self.phase = if self.permit.is_some() { ReplyPhase::Send } else { ReplyPhase::Queue };
    }

    /// Returns the address and the body of the request as it is sent.
    fn outgoing(&self) -> Result<(Url, Value), ProviderFailure> {
        let endpoint = &self.shared.http.endpoint;
        let dialect = self.shared.http.kind.dialect();
        let whole = if self.is_whole { dialect.whole_reply_request(&self.request, endpoint)? } else { None };
        let (url, body) = match whole {
            Some(whole) => whole,
            None => (dialect.reply_url(endpoint, &self.request.model)?, dialect.body(&self.request, endpoint)),
        };
        let (body, _) = self.shared.apply_rules(&self.request, body, &self.rules);
        Ok((url, body))
    }

    /// Prepares another request after a failure in a stream that had no content yet. Returns whether there is anything
    /// to change.
    fn adapt_early(&mut self, failure: &ProviderFailure) -> bool {
        if self.has_content || self.ready.iter().any(is_content) {
            return false;
        }
        let Some(words) = failure.words() else { return false };
        let Ok((_, body)) = self.outgoing() else { return false };
        let detail = ErrorDetail::from_words(failure.status(), words);
        self.adapt(&detail, failure, &body)
    }

    /// Prepares the same request again after an error inside of a response, as after an error status of the same
    /// meaning. Returns whether it will be sent. It is not if anything of a reply has arrived.
    fn retry_early(&mut self, failure: &ProviderFailure) -> bool {
        // A timeout or a broken connection is no answer of the server.
        if !self.awaits_breaker || failure.words().is_none() {
            return false;
        }
        let Some(wait) = self.shared.http.retry_delay(&mut self.budget, failure) else { return false };
        // What the failed response told besides its error.
        self.ready.clear();
        self.phase = ReplyPhase::Pause(wait);
        true
    }

    /// Remembers what led to a reply, and reports it before the first frame of the reply.
    fn learn_rules(&mut self) {
        if self.rules.is_empty() {
            return;
        }
        let (_, changes) = self.shared.body(&self.request, &self.rules);
        let rules = std::mem::take(&mut self.rules);
        self.shared.rules().learn(&self.request.model, rules);
        if !changes.is_empty() {
            self.ready.push_front(Frame::ParametersChanged(changes));
        }
    }

    /// Retries with an instruction to continue instead of a prefill, and remembers this for the model.
    fn retry_without_prefill(&mut self) {
        let mut models = self.shared.no_prefill_models();
        if models.len() >= MAX_NO_PREFILL_MODELS {
            models.clear();
        }
        models.insert(self.request.model.clone());
        drop(models);
        self.request = alternation::with_continue_instruction(&self.request);
        self.decoder = decoder(&self.shared.http, &self.request);
    }

    fn fail(&mut self, failure: ProviderFailure) {
        if std::mem::take(&mut self.awaits_breaker) {
            match self.is_side_call {
                true => self.shared.breaker.abandon_probe(),
                false => self.shared.breaker.record_failure(&failure, RequestOrigin::of(&self.request), Instant::now()),
            }
        }
        self.failure = Some(failure);
    }

    /// Decodes received data, the end of the body, or a read failure.
    fn accept(&mut self, piece: Result<Option<Bytes>, ProviderFailure>) {
        let mut frames = Vec::new();
        let result = match piece {
            Ok(Some(bytes)) => self.decoder.feed(&bytes, &mut frames),
            // Only the end of the body is missing.
            Err(_) if self.decoder.is_finished() => self.decoder.finish(&mut frames),
            Err(failure) => {
                self.decoder.break_off(&mut frames);
                Err(failure)
            }
            Ok(None) => self.decoder.finish(&mut frames),
        };
        if self.decoder.is_empty() {
            return self.retry_without_stream();
        }
        match &result {
            Ok(()) if self.decoder.is_done() => self.drain_connection(),
            _ if self.decoder.is_over() => self.release(),
            _ => {}
        }
        for frame in &mut frames {
            if let Frame::Usage(usage) = frame {
                usage.cost = usage.cost.or(self.header_cost);
            }
        }
        self.ready.extend(frames);
        if self.awaits_breaker && (self.decoder.is_finished() || self.ready.iter().any(is_content)) {
            self.awaits_breaker = false;
            self.shared.breaker.record_success();
            self.learn_rules();
        }
        if let Err(failure) = result
            && !self.adapt_early(&failure)
            && !self.retry_early(&failure)
        {
            self.fail(failure);
        }
    }

    /// Asks once more, for the whole reply, after an empty response. Some servers begin a stream before they look at the
    /// request, and can then only end it. Without a stream they answer with their error.
    fn retry_without_stream(&mut self) {
        let http = &self.shared.http;
        let whole = http.kind.dialect().whole_reply_request(&self.request, &http.endpoint);
        if self.is_whole || !matches!(whole, Ok(Some(_))) {
            return self.fail(ProviderFailure::InvalidResponse { words: "it is empty".to_owned() });
        }
        tracing::info!(provider = http.endpoint.id, "the stream was empty: asking the model server without a stream");
        self.is_whole = true;
        self.send_again();
    }

    /// Ends reading and frees its place for the next reply.
    fn release(&mut self) {
        self.phase = ReplyPhase::Done;
        self.permit = None;
    }

    /// Reads the rest of the body in the background, because only then can the connection be reused. The place is freed
    /// at once, because the reply is complete.
    fn drain_connection(&mut self) {
        self.permit = None;
        if let ReplyPhase::Read(mut response) = std::mem::replace(&mut self.phase, ReplyPhase::Done) {
            let limit = self.shared.http.endpoint.timeouts.after_finish;
            tokio::spawn(tokio::time::timeout(limit, async move { while let Ok(Some(_)) = response.chunk().await {} }));
        }
    }
}

impl Drop for ReplyStream {
    fn drop(&mut self) {
        if self.awaits_breaker {
            self.shared.breaker.abandon_probe();
        }
    }
}

fn decoder(http: &EndpointHttp, request: &Request) -> ReplyDecoder {
    let dialect = http.kind.dialect();
    ReplyDecoder::new(http.endpoint.max_reply_bytes, http.scrub(), dialect.reader(request), dialect.framing())
}

/// Returns the mark with which a prompt opens a thought: at the end of the chat template, or of a prefill.
fn open_mark(http: &EndpointHttp, request: &Request, body: &Value) -> Option<String> {
    let prompt = if http.kind.dialect().is_text_completion() {
        body.get("prompt")?.as_str()?
    } else {
        let last = request.messages.last().filter(|last| last.role == RequestRole::Assistant);
        &last.filter(|_| request.rounds.is_empty())?.content
    };
    thoughts::open_mark_at_end(prompt).map(str::to_owned)
}

/// Returns the cost that LiteLLM tells in a header of whole replies.
fn header_cost(response: &Response) -> Option<f64> {
    let cost: f64 = response.headers().get("x-litellm-response-cost")?.to_str().ok()?.trim().parse().ok()?;
    (cost.is_finite() && cost > 0.0).then_some(cost)
}

fn is_content(frame: &Frame) -> bool {
    matches!(frame, Frame::Text(_) | Frame::Reasoning(_) | Frame::ToolCall(_) | Frame::Finish(_))
}

/// Returns the timeout for the next data, and what it waits for.
fn next_timeout(timeouts: &Timeouts, speaking: bool, finished: bool) -> (TimeoutPhase, Duration) {
    match (speaking, finished) {
        (_, true) => (TimeoutPhase::Idle, timeouts.after_finish),
        (true, false) => (TimeoutPhase::Idle, timeouts.idle),
        (false, false) => (TimeoutPhase::FirstToken, timeouts.first_token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestMessage;

    /// A thought that the template opens is marked in the reply, as if the model had opened it.
    #[test]
    fn reply_stream_mark_of_template_precedes_text() {
        let user = RequestMessage { role: RequestRole::User, name: None, content: "Hi.".into() };
        let prefill =
            |text: &str| RequestMessage { role: RequestRole::Assistant, name: None, content: text.to_owned() };
        let state = |kind: ProviderKind, template: &str| {
            let endpoint = Endpoint::new("a", "http://a/");
            endpoint.template.set_server_template(template);
            Arc::new(EndpointState::new(kind, endpoint))
        };
        let opened = |state: &Arc<EndpointState>, messages: &[RequestMessage]| {
            let request = Request { messages: messages.to_vec(), ..Request::default() };
            open_mark(&state.http, &request, &state.http.kind.dialect().body(&request, &state.http.endpoint))
        };
        let opens = state(
            ProviderKind::from_name("llamacpp").unwrap(),
            "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}<|assistant|>\n<think>\n",
        );
        assert_eq!(opened(&opens, std::slice::from_ref(&user)).as_deref(), Some("<think>"));
        let plain = state(
            ProviderKind::from_name("llamacpp").unwrap(),
            "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}<|assistant|>\n<think>\n\n</think>\n\n",
        );
        assert_eq!(opened(&plain, std::slice::from_ref(&user)), None);
        let chat = state(ProviderKind::from_name("openai").unwrap(), "");
        assert_eq!(opened(&chat, &[user.clone(), prefill("<think>\n")]).as_deref(), Some("<think>"));
        assert_eq!(opened(&chat, &[user.clone(), prefill("She reads <think>")]), None);
        assert_eq!(opened(&chat, std::slice::from_ref(&user)), None);
        let mut reply = ReplyStream::new(opens, Request::default(), false);
        reply.open_mark = Some("<think>".to_owned());
        let frames = ["", "a", "b"].map(|text| reply.with_open_mark(Frame::Text(text.to_owned())));
        assert_eq!(frames, ["", "<think>a", "b"].map(|text| Frame::Text(text.to_owned())));
        reply.open_mark = Some("<think>".to_owned());
        reply.with_open_mark(Frame::Reasoning("a".to_owned()));
        assert_eq!(reply.with_open_mark(Frame::Text("b".to_owned())), Frame::Text("b".to_owned()));
    }

    #[test]
    fn reply_stream_timeout_depends_on_phase() {
        let timeouts = Timeouts::default();
        assert_eq!(next_timeout(&timeouts, false, false), (TimeoutPhase::FirstToken, timeouts.first_token));
        assert_eq!(next_timeout(&timeouts, true, false), (TimeoutPhase::Idle, timeouts.idle));
        assert_eq!(next_timeout(&timeouts, true, true), (TimeoutPhase::Idle, timeouts.after_finish));
    }
}
