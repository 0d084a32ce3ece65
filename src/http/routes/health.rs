//! Health and metrics, for the operator.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use actix_web::HttpResponse;
use actix_web::http::header;
use actix_web::web::Data;
use serde_json::Map;

use super::AppData;
use crate::http::error::ApiError;
use crate::http::response::{ApiResponse, ApiResult, to_json};
use crate::http::server_state::ServerState;
use crate::http::wire::health_problem::HealthProblem;
use crate::http::wire::server_info::HealthResponse;
use clotho_core::coded_message::RenderedMessage;
use clotho_engine::turn::HookMetric;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Confirms that the process is alive.
///
/// # Errors
/// Never.
pub async fn healthz() -> ApiResult<HealthResponse> {
    ApiResponse::ok(&HealthResponse { status: "ok", version: VERSION, parts: Map::new(), problems: BTreeMap::new() })
}

/// Checks the database, the search index, plugins and secure erasure. A broken plugin or a failed erasure is listed but
/// does not make the server unready.
///
/// # Errors
/// Returns `503` if the database does not answer.
pub async fn readyz(app: AppData) -> Result<HttpResponse, ApiError> {
    let database = app.store.read::<_, ApiError, _>(|reader| Ok(reader.newest_cursor()?)).await;
    let progress = app.search.progress();
    let behind = database.as_ref().map_or(0, |newest| newest - progress.visible);
    let catalogue = app.catalogue.current();
    let broken: Vec<&str> =
        catalogue.entries().filter(|entry| entry.error().is_some()).map(|entry| entry.name.as_str()).collect();
    let wiping = app.secure_erase.repeated_failures();
    let mut health = HealthResponse { status: "ok", version: VERSION, parts: Map::new(), problems: BTreeMap::new() };
    // Check each part.
    add_part(&mut health, "database", database.is_err().then_some(HealthProblem::DatabaseSilent {}));
    let is_index_down = progress.is_down || progress.is_suspect;
    add_part(&mut health, "index", is_index_down.then_some(HealthProblem::IndexDown {}));
    health.parts.insert("indexBehind".into(), behind.into());
    let plugins = broken.join(", ");
    add_part(&mut health, "plugins", (!broken.is_empty()).then_some(HealthProblem::PluginsBroken { plugins }));
    if let Some(embedding) = &app.embedding {
        let problem = embedding.problem().map(|error| HealthProblem::NoVectors { error });
        add_part(&mut health, "embeddings", problem);
    }
    add_part(&mut health, "wiping", wiping.map(|times| HealthProblem::EraseFailed { times: times.into() }));
    let is_ready = database.is_ok() && !progress.is_down;
    health.status = if is_ready { "ok" } else { "degraded" };
    let body = to_json(&health)?;
    let mut answer = if is_ready { HttpResponse::Ok() } else { HttpResponse::ServiceUnavailable() };
    Ok(answer.insert_header((header::CACHE_CONTROL, "no-store")).content_type("application/json").body(body))
}

/// Adds a part: it works, or it has a problem.
fn add_part(health: &mut HealthResponse, name: &'static str, problem: Option<HealthProblem>) {
    let state = problem.as_ref().map_or_else(|| "ok".to_owned(), ToString::to_string);
    health.parts.insert(name.into(), state.into());
    health.problems.extend(problem.map(|problem| (name, RenderedMessage::new(&problem))));
}

/// A metric of each hook of each plugin: name, help text and value.
type PluginMetric = (&'static str, &'static str, fn(&HookMetric) -> u64);

const PLUGIN_METRICS: [PluginMetric; 6] = [
    ("plugin_calls_total", "Hook calls of plugins.", |meter| meter.calls),
    ("plugin_failures_total", "Failed hook calls, including those over a limit.", |meter| meter.failures),
    ("plugin_limits_total", "Hook calls that exceeded a limit.", |meter| meter.limits),
    ("plugin_micros_total", "Microseconds of CPU used by hooks.", |meter| meter.micros),
    ("plugin_operations_total", "Interpreter steps used by hooks.", |meter| meter.operations),
    ("plugin_proposed_total", "State operations proposed by hooks.", |meter| meter.proposed),
];

/// Returns metrics in the Prometheus text format.
///
/// # Errors
/// Returns no error of its own.
pub async fn metrics(app: AppData, shared: Data<ServerState>) -> Result<HttpResponse, ApiError> {
    let mut text = String::new();
    let mut put = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
        let _ = writeln!(text, "# HELP clotho_{name} {help}\n# TYPE clotho_{name} {kind}");
        for (labels, value) in rows {
            let _ = writeln!(text, "clotho_{name}{labels} {value}");
        }
    };
    let one = |value: u64| [(String::new(), value)];
    let count = |value: usize| one(u64::try_from(value).unwrap_or(u64::MAX));
    let answers: Vec<(String, u64)> =
        shared.metrics.responses_by_status_class().map(|(digit, n)| (format!("{{status=\"{digit}xx\"}}"), n)).collect();
    let (frames, replayed) = shared.metrics.frames_and_replays();
    let (progress, meters) = (app.search.progress(), app.turns.rules.hook_metrics());
    put("http_answers_total", "counter", "HTTP responses by the first digit of their status.", &answers);
    put("http_replayed_total", "counter", "Stored responses sent for a repeated key.", &one(replayed));
    put("ws_frames_total", "counter", "Frames sent over WebSockets.", &one(frames));
    put("ws_open", "gauge", "Open WebSockets.", &count(shared.open_sockets()));
    put("generations_running", "gauge", "Replies being generated.", &count(app.live.count(app.owner).1));
    put("generations_waiting", "gauge", "Replies waiting in the queue.", &count(app.live.waiting_count()));
    put("sessions_watched", "gauge", "Sessions with at least one watcher.", &count(app.live.watcher_counts().0));
    put("deltas_folded_total", "counter", "Deltas folded into states.", &one(app.store.deltas_folded()));
    put("search_documents", "gauge", "Messages in the search index.", &one(app.search.len()));
    for (name, help, of) in PLUGIN_METRICS {
        let labels = |(plugin, hook): &(String, &str)| format!("{{plugin=\"{plugin}\",hook=\"{hook}\"}}");
        let rows: Vec<(String, u64)> = meters.iter().map(|(key, meter)| (labels(key), of(meter))).collect();
        put(name, "counter", help, &rows);
    }
    if let Some(embedding) = &app.embedding {
        let [embedded, failures, left_out] = embedding.counts();
        put("embeddings_total", "counter", "Texts embedded as vectors.", &one(embedded));
        put("embedding_failures_total", "counter", "Failures of the embedding model.", &one(failures));
        put("embeddings_left_out_total", "counter", "Texts that the embedding model cannot embed.", &one(left_out));
    }
    let failed = u64::from(app.secure_erase.failures());
    put("wipe_failures", "gauge", "Consecutive failures to erase deleted data.", &one(failed));
    put("search_down", "gauge", "1 while the search index cannot be written.", &one(u64::from(progress.is_down)));
    let mut answer = HttpResponse::Ok();
    Ok(answer.insert_header((header::CACHE_CONTROL, "no-store")).content_type("text/plain; version=0.0.4").body(text))
}
