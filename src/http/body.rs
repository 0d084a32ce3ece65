//! Request bodies: size-limited bytes, UTF-8, JSON of limited depth, then the type that the handler wants. Every error
//! names the field.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, web};
use futures_util::StreamExt;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::caller::ClientIdentity;
use super::error::{ApiError, ApiErrorCode};
use crate::app::App;
use clotho_core::json_scan::{self, JsonBounds, JsonScanError, JsonScanFault};

/// Largest body that is parsed where it arrives.
const LARGE_BODY: usize = 64 << 10;

/// How many requests with a large body are worked on at once. The others wait, so that twenty of them leave time and
/// memory for the rest.
static LARGE_BODY_SLOTS: Semaphore = Semaphore::const_new(2);

/// The slot of a request with a large body. It is among the data of the request, and so ends with it.
struct LargeBodySlot(#[allow(dead_code, reason = "held until the request ends")] SemaphorePermit<'static>);

/// What a body may be and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BodyLimits {
    /// Maximum size in bytes.
    bytes: usize,
    /// Maximum time between two chunks.
    chunk_timeout: Duration,
    /// Maximum time for the whole body.
    timeout: Duration,
}

impl BodyLimits {
    /// Largest body of a device that is not paired. It can only send a pairing code.
    const UNPAIRED_BYTES: usize = 4 << 10;

    /// Returns the limits for a caller, of a route that takes `bytes`.
    fn for_caller(caller: ClientIdentity, bytes: usize) -> Self {
        let seconds = Duration::from_secs;
        match caller {
            ClientIdentity::Unknown => {
                Self { bytes: bytes.min(Self::UNPAIRED_BYTES), chunk_timeout: seconds(5), timeout: seconds(10) }
            }
            ClientIdentity::LocalMachine | ClientIdentity::Device(_) => {
                Self { bytes, chunk_timeout: seconds(15), timeout: seconds(120) }
            }
        }
    }
}

/// A JSON body of type `T`, which is an object. An empty body counts as `{}`.
pub struct JsonBody<T>(pub T);

/// A JSON body that is a list of objects of type `T`.
pub struct JsonListBody<T>(pub Vec<T>);

type JsonBodyFuture<B> = Pin<Box<dyn Future<Output = Result<B, ApiError>>>>;

impl<T: DeserializeOwned + Send + 'static> FromRequest for JsonBody<T> {
    type Error = ApiError;
    type Future = JsonBodyFuture<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = read_json(request, payload);
        Box::pin(async move {
            let (bytes, max_depth) = body.await?;
            parse_bytes(bytes, move |bytes| parse(bytes, max_depth)).await.map(Self)
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> FromRequest for JsonListBody<T> {
    type Error = ApiError;
    type Future = JsonBodyFuture<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = read_json(request, payload);
        Box::pin(async move {
            let (bytes, max_depth) = body.await?;
            let parse_list = move |bytes: &[u8]| parse_any::<Vec<JsonObject<T>>>(bytes, max_depth).map(unwrap_objects);
            parse_bytes(bytes, parse_list).await.map(Self)
        })
    }
}

fn unwrap_objects<T>(list: Vec<JsonObject<T>>) -> Vec<T> {
    list.into_iter().map(|object| object.0).collect()
}

/// Parses a body, a large one on another thread: many small values take long, and meanwhile a worker answers nobody.
async fn parse_bytes<T: Send + 'static>(
    bytes: Vec<u8>,
    parse: impl FnOnce(&[u8]) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if bytes.len() <= LARGE_BODY {
        return parse(&bytes);
    }
    web::block(move || parse(&bytes)).await.map_err(ApiError::internal)?
}

/// Reads the bytes of a JSON body, and the configured maximum depth.
fn read_json(
    request: &HttpRequest,
    payload: &mut Payload,
) -> impl Future<Output = Result<(Vec<u8>, usize), ApiError>> + use<> {
    let (request, payload) = (request.clone(), payload.take());
    async move {
        let limits = &app(&request)?.config.limits;
        let bytes = read_bytes(&request, payload, limits.body_bytes).await?;
        if !bytes.is_empty() {
            check_json_content_type(&request)?;
        }
        Ok((bytes, limits.json_depth))
    }
}

/// A value that must be a JSON object. A derived `Deserialize` would also accept a list of the fields in order, which
/// here is a client error.
pub struct JsonObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct JsonObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for JsonObjectVisitor<T> {
            type Value = JsonObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(JsonObject)
            }
        }

        from.deserialize_map(JsonObjectVisitor(PhantomData))
    }
}

/// Returns the app state, for extractors.
///
/// # Errors
/// Returns an internal error if the server was built without it.
pub fn app(request: &HttpRequest) -> Result<&App, ApiError> {
    let app = request.app_data::<web::Data<App>>();
    app.map(|data| data.get_ref()).ok_or_else(|| ApiError::internal("a route without the program"))
}

/// Reads a body of at most `limit` bytes; of a device that is not paired, of at most 4 kB. After a large one, waits
/// until few other requests with large bodies are worked on.
///
/// # Errors
/// Returns an error if the body is larger or the connection breaks.
pub async fn read_bytes(request: &HttpRequest, payload: Payload, limit: usize) -> Result<Vec<u8>, ApiError> {
    let limits = BodyLimits::for_caller(ClientIdentity::from_request_extensions(request), limit);
    let late = |_| ApiError::new(ApiErrorCode::Malformed, "the body did not arrive in time");
    let bytes = tokio::time::timeout(limits.timeout, read_chunks(request, payload, limits)).await.map_err(late)??;
    // The body of a request with an idempotency key is read twice.
    let has_slot = request.extensions().contains::<LargeBodySlot>();
    if bytes.len() > LARGE_BODY && !has_slot {
        let slot = LARGE_BODY_SLOTS.acquire().await.map_err(ApiError::internal)?;
        request.extensions_mut().insert(LargeBodySlot(slot));
    }
    Ok(bytes)
}

async fn read_chunks(request: &HttpRequest, mut payload: Payload, limits: BodyLimits) -> Result<Vec<u8>, ApiError> {
    let limit = limits.bytes;
    let too_large = || {
        let message = format!("the body is larger than {limit} bytes");
        ApiError::new(ApiErrorCode::TooLarge, message).detail("limit", limit)
    };
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if announced.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let late = |_| ApiError::new(ApiErrorCode::Malformed, "the body did not arrive in time");
    let mut bytes = Vec::new();
    while let Some(piece) = tokio::time::timeout(limits.chunk_timeout, payload.next()).await.map_err(late)? {
        let piece = piece
            .map_err(|_| ApiError::new(ApiErrorCode::Malformed, "the body is incomplete or has a wrong encoding"))?;
        if bytes.len() + piece.len() > limit {
            return Err(too_large());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn check_json_content_type(request: &HttpRequest) -> Result<(), ApiError> {
    let encoded = request.headers().get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity");
    if encoded {
        return Err(ApiError::new(ApiErrorCode::UnsupportedMedia, "compressed bodies are not supported"));
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (essence, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    let essence = essence.trim().to_ascii_lowercase();
    let charset =
        parameters.split(';').filter_map(|one| one.split_once('=')).find(|(name, _)| name.trim() == "charset");
    let is_utf8 = charset.is_none_or(|(_, name)| name.trim().trim_matches('"').eq_ignore_ascii_case("utf-8"));
    if (essence == "application/json" || essence.ends_with("+json")) && is_utf8 {
        return Ok(());
    }
    let got = if kind.is_empty() { "nothing".to_owned() } else { format!("\"{}\"", printable(kind)) };
    Err(ApiError::new(
        ApiErrorCode::UnsupportedMedia,
        format!("the body must be JSON in UTF-8, but Content-Type says {got}"),
    ))
}

/// Parses `T` from a JSON object.
///
/// # Errors
/// Returns `malformed` if it is no JSON, and `invalid` with the field if a value does not fit.
pub fn parse<T: DeserializeOwned>(bytes: &[u8], max_depth: usize) -> Result<T, ApiError> {
    parse_any::<JsonObject<T>>(bytes, max_depth).map(|object| object.0)
}

fn parse_any<T: DeserializeOwned>(bytes: &[u8], max_depth: usize) -> Result<T, ApiError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        ApiError::new(ApiErrorCode::Malformed, format!("not UTF-8 at byte {}", error.valid_up_to()))
    })?;
    json_scan::scan(text, JsonBounds::of_depth(max_depth)).map_err(out_of_bounds)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value: T = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        // A syntax error further on makes the whole body malformed, so it takes precedence over a field error.
        let whole = serde_json::from_str::<IgnoredAny>(text).err();
        whole.map_or_else(|| from_value_error(text, error), |error| from_json_error(".", &error))
    })?;
    reader.end().map_err(|error| from_json_error(".", &error))?;
    Ok(value)
}

/// Builds the error for JSON that is out of bounds or has a string that no database stores.
fn out_of_bounds(error: JsonScanError) -> ApiError {
    match error.fault {
        JsonScanFault::TooManyValues { limit } => {
            let field = printable(&error.field);
            ApiError::new(ApiErrorCode::TooLarge, error.to_string()).detail("limit", limit << 20).detail("field", field)
        }
        _ => ApiError::invalid(&error.field, error.to_string()),
    }
}

/// Builds the error for valid JSON that does not fit. `serde_json` reports a syntax error in valid JSON for two reasons:
/// a number that is too large, or something else than a text where an enum is expected.
fn from_value_error(text: &str, error: serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    let path = error.path().to_string();
    let is_syntax = error.inner().classify() == Category::Syntax;
    if is_syntax && !is_large_number(text, error.path()) {
        return invalid_field(&path, "expected a word in quotes".to_owned());
    }
    from_json_error(&path, &error.into_inner())
}

/// Returns whether a JSON text has a number at this path that is too large to be read.
fn is_large_number(text: &str, path: &Path) -> bool {
    let Ok(whole) = serde_json::from_str::<Value>(text) else { return false };
    let place = path.iter().try_fold(&whole, |value, segment| match segment {
        Segment::Seq { index } => value.get(*index),
        Segment::Map { key } | Segment::Enum { variant: key } => value.get(key),
        Segment::Unknown => None,
    });
    place.is_some_and(|value| value.as_number().is_some_and(|number| number.as_f64().is_none()))
}

fn from_json_error(path: &str, error: &serde_json::Error) -> ApiError {
    let (line, column) = (error.line(), error.column());
    let message = reword_deserialize_error(&error.to_string());
    if error.classify() != Category::Data {
        let message = format!("not JSON at line {line}, column {column}: {message}");
        return ApiError::new(ApiErrorCode::Malformed, message).detail("line", line).detail("column", column);
    }
    invalid_field(path, message)
}

/// Builds the error for a field from the message of a deserializer.
///
/// The message is read here and in [`reword_deserialize_error`] because serde offers nothing better. A derived type names
/// the missing field or the found type, but the error of a deserializer only keeps the sentence made from it. Besides
/// that, one of `serde_json` has a category and a position, and `serde_path_to_error` adds the path. For a missing or
/// repeated field, the path is that of the object. The tests below show if a later version says it in other words.
pub fn invalid_field(path: &str, message: String) -> ApiError {
    let path = if path == "." { "" } else { path };
    let about = ["missing field \"", "duplicate field \""].into_iter().find_map(|words| message.strip_prefix(words));
    let named = about.and_then(|rest| rest.split_once('"'));
    let field = match named {
        Some((name, _)) if path.is_empty() => name.to_owned(),
        Some((name, _)) => format!("{path}.{name}"),
        None => path.to_owned(),
    };
    ApiError::invalid(&field, message)
}

/// Rewords a deserializer message: no position, no backticks, no names of internal types.
pub fn reword_deserialize_error(message: &str) -> String {
    let without_place = message.rsplit_once(" at line ").map_or(message, |(words, _)| words);
    let words = match without_place.rsplit_once(", expected ") {
        Some((found, expected)) => format!("{}, expected {}", reword_found(found), reword_expected(expected)),
        None => reword_found(without_place),
    };
    printable(&words.replace('`', "\""))
}

/// Describes the found value in JSON terms.
fn reword_found(found: &str) -> String {
    let kinds = [
        (": integer `", ": the number `"),
        (": floating point `", ": the number `"),
        (": boolean `", ": `"),
        (": string \"", ": the text \""),
        (": sequence", ": a list"),
        (": map", ": an object"),
    ];
    let named = kinds.iter().find_map(|(theirs, ours)| {
        let (before, after) = found.split_once(theirs)?;
        matches!(before, "invalid type" | "invalid value").then(|| format!("{before}{ours}{after}"))
    });
    named.unwrap_or_else(|| found.to_owned())
}

/// Describes the expected value in JSON terms.
fn reword_expected(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

/// Makes client text safe for a message: bounded and on one line.
pub fn printable(text: &str) -> String {
    let bounded: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    if bounded.len() < text.len() && text.chars().count() > 300 { format!("{bounded}…") } else { bounded }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Shape {
        #[expect(dead_code, reason = "only its type matters")]
        name: String,
        #[serde(default)]
        #[expect(dead_code, reason = "only its type matters")]
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code, reason = "only its type matters")]
        list: Vec<u8>,
        #[serde(default)]
        #[expect(dead_code, reason = "only its type matters")]
        word: Option<Word>,
        #[serde(default)]
        #[expect(dead_code, reason = "only its type matters")]
        share: f64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        One,
    }

    #[test]
    fn json_body_fault_returns_code_and_field() {
        let check = |text: &[u8], code: ApiErrorCode, field: Option<&str>, words: &str| {
            let error = parse::<Shape>(text, 64).unwrap_err();
            assert_eq!(error.code, code, "{error}");
            assert_eq!(error.details.get("field").and_then(Value::as_str), field, "{error}");
            assert!(error.message.contains(words), "{error}");
        };
        check(b"{", ApiErrorCode::Malformed, None, "EOF");
        check(b"{} {}", ApiErrorCode::Malformed, None, "trailing");
        check(br#"{"name": 5, "x": }"#, ApiErrorCode::Malformed, None, "line 1, column 18");
        check(br#"{"name": "a"} x"#, ApiErrorCode::Malformed, None, "trailing");
        check(br#"{"name": NaN}"#, ApiErrorCode::Malformed, None, "line 1, column 10");
        check(b"\xff", ApiErrorCode::Malformed, None, "UTF-8");
        check(b"", ApiErrorCode::Invalid, Some("name"), "missing field");
        check(br#"{"name": 5}"#, ApiErrorCode::Invalid, Some("name"), "expected a string");
        check(br#"{"name": "a", "nmae": 1}"#, ApiErrorCode::Invalid, Some("nmae"), "unknown field \"nmae\"");
        check(br#"{"name": "a", "name": "b"}"#, ApiErrorCode::Invalid, Some("name"), "duplicate field");
        check(br#"{"name": "a", "inner": {"list": [1, 300]}}"#, ApiErrorCode::Invalid, Some("inner.list[1]"), "300");
        check(br#"{"name": "a", "inner": {}}"#, ApiErrorCode::Invalid, Some("inner.list"), "missing field");
        // Messages do not use words of Rust or serde.
        check(br#"{"name": 5}"#, ApiErrorCode::Invalid, Some("name"), "the number \"5\", expected a string");
        check(br#"{"name": "a", "inner": 1}"#, ApiErrorCode::Invalid, Some("inner"), "expected an object");
        check(br#"{"name": "a", "inner": {"list": 1}}"#, ApiErrorCode::Invalid, Some("inner.list"), "expected a list");
        let whole = "expected a whole number from 0 to 255";
        check(br#"{"name": "a", "inner": {"list": [300]}}"#, ApiErrorCode::Invalid, Some("inner.list[0]"), whole);
        check(
            br#"{"name": "a", "inner": {"list": ["i, expected u8"]}}"#,
            ApiErrorCode::Invalid,
            Some("inner.list[0]"),
            whole,
        );
        check(br#"{"name": "a", "inner": {"list": [1.5]}}"#, ApiErrorCode::Invalid, Some("inner.list[0]"), whole);
        check(
            br#"{"name": "a", "inner": {"list": {}}}"#,
            ApiErrorCode::Invalid,
            Some("inner.list"),
            "an object, expected a list",
        );
        let word = "expected a word in quotes";
        check(br#"{"name": "a", "inner": {"list": [], "word": 5}}"#, ApiErrorCode::Invalid, Some("inner.word"), word);
        check(
            br#"{"name": "a", "inner": {"list": [], "share": 1e999}}"#,
            ApiErrorCode::Malformed,
            None,
            "number out of range",
        );
        check(br#"{"name": "a\u0000"}"#, ApiErrorCode::Invalid, Some("name"), "U+0000");
        check(br#"[]"#, ApiErrorCode::Invalid, Some("."), "expected an object");
        check(br#"["a"]"#, ApiErrorCode::Invalid, Some("."), "expected an object");
        check(br#"5"#, ApiErrorCode::Invalid, Some("."), "expected an object");
    }
}
