//! The configuration sections with their keys, defaults and bounds. `config.toml` explains each key to the operator.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::allowed_host::AllowedHost;
use super::problem::SettingOrigin;
use super::reader::{ConfigReader, ConfigTable};

/// `[server]`: listen address and access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The listen address; port 0 lets the system choose. Must be a loopback address unless `lan` is set.
    pub listen: SocketAddr,
    pub mode: ServerMode,
    /// Hosts that a `Host` or `Origin` header may contain besides the loopback ones.
    pub allowed_hosts: Vec<AllowedHost>,
    /// Whether paired LAN devices have access. Required if `listen` is not a loopback address.
    pub lan: bool,
    /// Peers that are treated as the owner at this machine and need no pairing. Only used with `lan`.
    pub trusted_peers: Vec<IpNetwork>,
    /// Proxies whose `X-Forwarded-For` and `Forwarded` headers tell the address of the client.
    pub trusted_proxies: Vec<IpNetwork>,
    /// The connections that one address may hold open without a paired device; 0: any number. Only used with `lan`.
    pub unpaired_connections: usize,
    /// Serves the page from this folder instead of the binary; for development.
    pub static_dir: Option<PathBuf>,
    /// Worker threads for requests; 0: one per core.
    pub workers: usize,
}

/// The authentication mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerMode {
    /// One owner without a password: from this machine, or with a paired device.
    #[default]
    Local,
}

/// A network in CIDR form: all addresses that begin with the same `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    bits: u32,
}

impl IpNetwork {
    /// Parses `192.168.0.0/16` or a single address; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok().filter(|bits| *bits <= most))?;
        Some(Self { address, bits })
    }

    /// Returns whether the network contains an address. IPv4 addresses must not be given in IPv6-mapped form.
    pub fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = u32::from(own) ^ u32::from(other);
                differ.checked_shr(32 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = u128::from(own) ^ u128::from(other);
                differ.checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// `[storage]`: data directory, database and backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageConfig {
    /// The directory of all data of this server.
    pub data_dir: PathBuf,
    /// The SQLite file; `None`: `clotho.db` in the data directory. See [`StorageConfig::database_path`].
    pub database: Option<PathBuf>,
    /// Nodes between keyframes along a path; 1 to 1000.
    pub keyframe_every: u32,
    /// Concurrent reader connections.
    pub readers: usize,
    /// The maximum number of requests that share one commit.
    pub group_max: usize,
    /// The maximum size of the database file, in megabytes; 0: unlimited.
    pub max_database_mb: u32,
    /// The number of daily database backups to keep; 0: no backups.
    pub backups: usize,
}

/// `[plugins]`: the folder of additional plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginsConfig {
    /// A folder of plugins besides the bundled ones. A plugin with the id of a bundled one replaces it.
    pub dir: Option<PathBuf>,
}

/// `[tree]`: whether session trees may be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeConfig {
    /// Whether parts of a tree may be pruned, moved, copied, summarized and merged. Messages, rerolls, message edits,
    /// labels and checkouts are always allowed.
    pub edits: bool,
}

/// `[generation]`: default model, timeouts and context size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GenerationConfig {
    /// The model of sessions that name none: `provider/model`, `model` if that is unique, or `plugin:<id>`.
    pub model: String,
    /// The location of `model`, for errors found later: only the code that knows the plugins can check the model.
    pub model_origin: SettingOrigin,
    /// The timeout for connecting.
    pub connect_timeout: Duration,
    /// The timeout for the first piece of a reply.
    pub first_token_timeout: Duration,
    /// The timeout between two pieces of a reply.
    pub idle_timeout: Duration,
    /// The context length, in tokens, of models that do not report one; greater than `reply_tokens`.
    pub context_tokens: u32,
    /// Tokens reserved for the reply, and the maximum requested from the model.
    pub reply_tokens: u32,
    /// Tags whose `<tag>…</tag>` blocks are hidden, and pairs of marks around thoughts, as `opening…closing`.
    pub hide_tags: Vec<String>,
    /// The user message for prompts that contain none; empty: none is added.
    pub filler: String,
    /// The time zone of people whose requests name none; a name that [`parse_time_zone`](super::parse_time_zone) reads.
    pub time_zone: String,
}

/// `[pictures]`: remote images named by cards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PicturesConfig {
    /// Local hosts from which images may be fetched besides the internet, in lower case and without port.
    pub allowed_hosts: Vec<String>,
}

/// `[recall]`: recall of old messages and documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallConfig {
    /// The embeddings model, as `provider/model`; empty: recall by words only.
    pub embeddings: String,
    /// The location of `embeddings`, for errors found later: only the code that knows the providers can check the
    /// model.
    pub embeddings_origin: SettingOrigin,
    /// The share of a prompt's tokens for recalled text, in percent.
    pub share: usize,
    /// The maximum number of recalled texts.
    pub texts: usize,
    /// The minimum similarity to the latest messages for a match by vector, in hundredths.
    pub similarity: u32,
    /// How long a reply waits for the vector of the latest messages.
    pub wait: Duration,
    /// Texts per embeddings request.
    pub batch: usize,
    /// The characters of a text that are embedded; the rest is ignored.
    pub chars: usize,
}

/// `[summaries]`: rolling summaries of text that no longer fits the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummariesConfig {
    /// The share of a prompt's tokens for summaries, in percent.
    pub share: usize,
    /// Tokens of messages per summary, unless the session sets its own value.
    pub every: usize,
    /// Summaries per chapter.
    pub chapter: usize,
}

/// The upper bound of `message_kb` and `reply_kb`, in kilobytes.
const MAX_TEXT_KB: u32 = 16_384;
/// The same in bytes; no server has longer texts.
pub const MAX_TEXT_BYTES: usize = 16_384 * 1024;

/// `[limits]`: limits per request, user and server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    /// The maximum size of a request body, in bytes (`body_mb`).
    pub body_bytes: usize,
    /// The maximum size of a message, in bytes (`message_kb`).
    pub message_bytes: usize,
    /// The maximum size of a reply, in bytes; a longer one is cut off (`reply_kb`).
    pub reply_bytes: usize,
    /// The maximum duration of a generation (`generation_s`).
    pub generation: Duration,
    /// Concurrent generations per user.
    pub generations_per_user: usize,
    /// Concurrent generations of all users.
    pub generations: usize,
    /// Queued generations per user.
    pub waiting_per_user: usize,
    /// Open WebSockets per user.
    pub ws_per_user: usize,
    /// The maximum size of a WebSocket frame from a client, in bytes (`ws_frame_kb`).
    pub ws_frame_bytes: usize,
    /// Events queued for a slow client.
    pub ws_queue: usize,
    /// The maximum nesting of a request's JSON.
    pub json_depth: usize,
    /// The maximum size of an imported session file, compressed and decompressed, in bytes (`import_mb`).
    pub import_bytes: u64,
}

/// `[log]`: format and level of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    pub format: LogFormat,
    /// A level, or several with targets, such as `info,clotho::provider=debug`.
    pub level: String,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// `[search]`: how the search index is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchConfig {
    /// The memory of the index writer, in bytes (`heap_mb`).
    pub heap_bytes: usize,
    /// The maximum delay until a change is searchable (`commit_ms`).
    pub commit_interval: Duration,
    /// The number of pending changes that triggers a commit.
    pub commit_docs: usize,
}

impl ServerConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        let listen = table.parse("listen", "127.0.0.1:7317", reader, |text| address(text).map(Some));
        let listen = listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let mode = table.parse("mode", "local", reader, mode);
        let lan = table.flag("lan", false, reader);
        if !listen.ip().is_loopback() && !lan {
            let message = format!(
                "other machines can reach {listen}: use lan = true or `clotho serve --lan`, so that only paired \
                 devices may connect. Otherwise listen on 127.0.0.1, behind a proxy that asks for a password"
            );
            table.report(&["listen"], message, reader);
        }
        Self {
            listen,
            mode,
            allowed_hosts: table
                .texts("allowed_hosts", &[], reader, origin)
                .iter()
                .filter_map(|text| AllowedHost::parse(text))
                .collect(),
            lan,
            trusted_peers: networks(&table.texts("trusted_peers", &["127.0.0.0/8", "::1"], reader, network)),
            trusted_proxies: networks(&table.texts("trusted_proxies", &[], reader, network)),
            unpaired_connections: size(table.number(
                "unpaired_connections",
                32,
                0..=10_000,
                "the number of connections (0: no limit)",
                reader,
            )),
            static_dir: table.parse("static_dir", "", reader, optional_path),
            workers: size(table.number("workers", 0, 0..=256, "the number of threads (0: one for each core)", reader)),
        }
    }
}

impl StorageConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        Self {
            data_dir: table.parse("data_dir", "./data", reader, path),
            database: table.parse("database_url", "", reader, database),
            keyframe_every: table.number(
                "keyframe_every",
                16,
                1..=1000,
                "the number of nodes between two keyframes",
                reader,
            ),
            readers: size(table.number("readers", 4, 1..=64, "the number of read connections", reader)),
            group_max: size(table.number("group_max", 64, 1..=1024, "the number of requests in one commit", reader)),
            max_database_mb: table.number("max_database_mb", 0, 0..=16_000_000, "megabytes (0: no limit)", reader),
            backups: size(table.number("backups", 7, 0..=1_000, "daily backups (0: none)", reader)),
        }
    }

    /// Returns the path of the database file; a relative one is resolved against the data directory.
    pub fn database_path(&self) -> PathBuf {
        self.data_dir.join(self.database.as_deref().unwrap_or(Path::new("clotho.db")))
    }

    /// Returns the size limit in database pages of 4096 bytes; `None`: unlimited.
    pub fn max_pages(&self) -> Option<u32> {
        (self.max_database_mb > 0).then(|| self.max_database_mb.saturating_mul(256))
    }

    /// Returns the folder of the daily backups.
    pub fn backups_path(&self) -> PathBuf {
        self.data_dir.join("backups")
    }

    /// Returns the folder of the search index.
    pub fn search_path(&self) -> PathBuf {
        self.data_dir.join("search")
    }
}

impl PluginsConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        Self { dir: table.parse("dir", "", reader, optional_path) }
    }
}

impl TreeConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        Self { edits: table.flag("edits", true, reader) }
    }
}

impl GenerationConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        let generation = Self {
            model: table.parse("model", "plugin:lantern-keep", reader, model),
            model_origin: table.origin("model", reader),
            connect_timeout: seconds(table.number("connect_timeout_s", 10, 1..=300, "seconds", reader)),
            first_token_timeout: seconds(table.number("first_token_timeout_s", 120, 1..=3600, "seconds", reader)),
            idle_timeout: seconds(table.number("idle_timeout_s", 60, 1..=3600, "seconds", reader)),
            context_tokens: table.number("context_tokens", 8192, 512..=16_000_000, "tokens", reader),
            reply_tokens: table.number("reply_tokens", 1024, 16..=1_000_000, "tokens", reader),
            hide_tags: table.texts("hide_tags", HIDE_TAGS, reader, tag),
            filler: table.text("filler", "[Go on]", reader),
            time_zone: table.parse("time_zone", "UTC", reader, time_zone),
        };
        if generation.reply_tokens >= generation.context_tokens {
            let (reply, context) = (generation.reply_tokens, generation.context_tokens);
            let message = format!("expected fewer tokens for the reply ({reply}) than for the context ({context})");
            table.report(&["reply_tokens", "context_tokens"], message, reader);
        }
        generation
    }
}

/// Blocks that reasoning models, MVU cards and status-bar cards write for machines.
const HIDE_TAGS: &[&str] =
    &["think", "thinking", "UpdateVariable", "JSONPatch", "json_patch", "initvar", "StatusBlock"];

impl LimitsConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        let generation = seconds(table.number("generation_s", 600, 1..=86_400, "seconds", reader));
        let import_bytes = u64::from(table.number("import_mb", 2048, 1..=1_000_000, "megabytes", reader)) << 20;
        let mut number = |key, default, bounds, what| size(table.number(key, default, bounds, what, reader));
        Self {
            body_bytes: number("body_mb", 16, 1..=1024, "megabytes") * 1024 * 1024,
            message_bytes: number("message_kb", 256, 1..=MAX_TEXT_KB, "kilobytes") * 1024,
            reply_bytes: number("reply_kb", 1024, 1..=MAX_TEXT_KB, "kilobytes") * 1024,
            generation,
            generations_per_user: number("generations_per_user", 8, 1..=10_000, "generations"),
            generations: number("generations", 256, 1..=100_000, "generations"),
            waiting_per_user: number("waiting_per_user", 64, 0..=10_000, "generations"),
            ws_per_user: number("ws_per_user", 16, 1..=10_000, "sockets"),
            ws_frame_bytes: number("ws_frame_kb", 64, 1..=16_384, "kilobytes") * 1024,
            ws_queue: number("ws_queue", 1024, 16..=1_000_000, "events"),
            json_depth: number("json_depth", 64, 8..=128, "levels"),
            import_bytes,
        }
    }
}

impl PicturesConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        Self { allowed_hosts: table.texts("allowed_hosts", &[], reader, host).into_iter().map(lower).collect() }
    }
}

impl RecallConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        let wait = table.number("wait_ms", 2_000, 100..=60_000, "milliseconds", reader);
        Self {
            embeddings: table.parse("embeddings", "", reader, embeddings),
            embeddings_origin: table.origin("embeddings", reader),
            share: size(table.number("share", 10, 1..=50, "hundredths of a prompt", reader)),
            texts: size(table.number("texts", 8, 1..=64, "texts", reader)),
            similarity: table.number("similarity", 40, 0..=100, "hundredths", reader),
            wait: Duration::from_millis(wait.into()),
            batch: size(table.number("batch", 32, 1..=1_000, "texts", reader)),
            chars: size(table.number("chars", 2_000, 100..=100_000, "characters", reader)),
        }
    }
}

impl SummariesConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        Self {
            share: size(table.number("share", 10, 1..=50, "hundredths of a prompt", reader)),
            every: size(table.number("every", 1_500, 100..=50_000, "tokens", reader)),
            chapter: size(table.number("chapter", 6, 2..=50, "summaries", reader)),
        }
    }
}

impl LogConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        Self {
            format: table.parse("format", "text", reader, |text| match text {
                "text" => Ok(LogFormat::Text),
                "json" => Ok(LogFormat::Json),
                other => Err(format!("expected \"text\" or \"json\", got {other:?}")),
            }),
            level: table.parse("level", "info", reader, levels),
        }
    }
}

impl SearchConfig {
    pub(super) fn read(table: &mut ConfigTable, reader: &mut ConfigReader) -> Self {
        Self {
            heap_bytes: size(table.number("heap_mb", 20, 15..=1024, "megabytes", reader)) * 1024 * 1024,
            commit_interval: Duration::from_millis(
                table.number("commit_ms", 500, 10..=900, "milliseconds", reader).into(),
            ),
            commit_docs: size(table.number("commit_docs", 10_000, 1..=100_000, "documents", reader)),
        }
    }
}

macro_rules! impl_defaults {
    ($($name:ty),*) => {$(
        impl Default for $name {
            fn default() -> Self {
                ConfigTable::default_of(Self::read)
            }
        }
    )*};
}

impl_defaults!(
    ServerConfig,
    StorageConfig,
    PluginsConfig,
    TreeConfig,
    GenerationConfig,
    RecallConfig,
    SummariesConfig,
    LimitsConfig,
    LogConfig,
    SearchConfig
);

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn seconds(number: u32) -> Duration {
    Duration::from_secs(number.into())
}

fn lower(text: String) -> String {
    text.to_lowercase()
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!("expected an address and a port such as \"127.0.0.1:7317\" or \"[::1]:7317\", got {text:?}")
    })
}

fn mode(text: &str) -> Result<ServerMode, String> {
    match text {
        "local" => Ok(ServerMode::Local),
        "accounts" => Err("this version has no accounts yet: expected \"local\"".to_owned()),
        other => Err(format!("expected \"local\", got {other:?}")),
    }
}

fn host(text: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_ipv6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    if is_ipv6 || (!text.is_empty() && text.len() <= 253 && text.chars().all(fits)) {
        return Ok(());
    }
    Err(format!("expected a host name such as \"play.example.org\", without scheme, port or path, got {text:?}"))
}

fn origin(text: &str) -> Result<(), String> {
    let examples = "\"play.example.org\", \"play.example.org:8080\" or \"https://play.example.org\"";
    let parsed = AllowedHost::parse(text);
    parsed.map(|_| ()).ok_or_else(|| format!("expected a host such as {examples}, without path, got {text:?}"))
}

fn network(text: &str) -> Result<(), String> {
    let message = "expected an address or a network such as \"127.0.0.0/8\" or \"::1\"";
    IpNetwork::parse(text).map(|_| ()).ok_or_else(|| format!("{message}, got {text:?}"))
}

fn networks(texts: &[String]) -> Vec<IpNetwork> {
    texts.iter().filter_map(|text| IpNetwork::parse(text)).collect()
}

fn path(text: &str) -> Result<PathBuf, String> {
    optional_path(text)?.ok_or_else(|| "expected a path, got an empty string".to_owned())
}

fn optional_path(text: &str) -> Result<Option<PathBuf>, String> {
    if text.contains('\0') {
        return Err("a path cannot contain U+0000".to_owned());
    }
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

fn database(text: &str) -> Result<Option<PathBuf>, String> {
    if text.starts_with("postgres:") || text.starts_with("postgresql:") {
        return Err("this version supports SQLite only: expected the path of a file, or \"\"".to_owned());
    }
    let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:")).unwrap_or(text);
    let is_url = path.split_once("://").is_some() || path.starts_with("file:") || path.contains('?');
    if is_url || path == ":memory:" || (path.is_empty() && !text.is_empty()) {
        return Err("expected the path of an SQLite file such as \"clotho.db\", or \"\"".to_owned());
    }
    optional_path(path)
}

fn model(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.len() <= 300 && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    let message = "expected a model: \"provider/model\", \"model\", or \"plugin:<id>\"";
    if fits { Ok(text.to_owned()) } else { Err(format!("{message}, got {text:?}")) }
}

fn time_zone(text: &str) -> Result<String, String> {
    let message = "expected a time zone: a name such as \"Europe/Berlin\", or an offset such as \"+02:00\"";
    super::parse_time_zone(text).map(|_| text.to_owned()).ok_or_else(|| format!("{message}, got {text:?}"))
}

fn embeddings(text: &str) -> Result<String, String> {
    let is_whole = text.split_once('/').is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
    let is_plain = text.len() <= 300 && !text.chars().any(|c| c.is_control() || c.is_whitespace());
    let message = "expected an embedding model as \"provider/model\", or \"\" for none";
    if text.is_empty() || (is_whole && is_plain) {
        Ok(text.to_owned())
    } else {
        Err(format!("{message}, got {text:?}"))
    }
}

fn tag(text: &str) -> Result<(), String> {
    let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    if text.chars().next().is_some_and(char::is_alphabetic) && text.chars().all(fits) && text.len() <= 64 {
        return Ok(());
    }
    if text.len() <= 400 && !text.contains('\n') && is_mark_pair(text) {
        return Ok(());
    }
    Err(format!("expected a tag name such as \"think\", without brackets, got {text:?}"))
}

/// Returns whether a text is a pair of marks around thoughts, as the server reads it.
fn is_mark_pair(text: &str) -> bool {
    let marks = text.split_once('…').or_else(|| text.split_once("..."));
    marks.is_some_and(|(open, close)| {
        let (open, close) = (open.trim(), close.trim());
        !open.is_empty() && !close.is_empty() && !open.eq_ignore_ascii_case(close)
    })
}

/// Validates log levels. The logger would take an unknown level for a target name.
fn levels(text: &str) -> Result<String, String> {
    let is_level = |word: &str| matches!(word, "off" | "error" | "warn" | "info" | "debug" | "trace");
    let fits = |c: char| c.is_ascii_alphanumeric() || "_:-".contains(c);
    let is_directive = |part: &str| match part.split_once('=') {
        Some((target, level)) => !target.is_empty() && target.chars().all(fits) && is_level(level),
        None => is_level(part),
    };
    if text.split(',').all(is_directive) {
        return Ok(text.to_owned());
    }
    let levels = "off, error, warn, info, debug or trace";
    Err(format!("expected one of {levels}, or several parts such as \"info,clotho::provider=debug\", got {text:?}"))
}
