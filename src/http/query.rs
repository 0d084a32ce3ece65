//! Query strings, and ids in paths. Unknown query keys are refused, so that typos do not pass silently. A malformed id
//! in a path is `not_found`.

use std::fmt;
use std::future::{Ready, ready};
use std::slice;
use std::str::FromStr;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};

use super::body::{invalid_field, printable, reword_deserialize_error};
use super::error::{ApiError, ApiErrorCode};
use clotho_core::ids::{
    CharacterId, ConnectionProfileId, DeviceId, DocumentId, DraftId, FragmentId, JobId, LorebookId, NodeId, PersonaId,
    PresetId, SessionId, SummaryId, TrashId,
};

/// A query of type `T`.
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned> FromRequest for QueryParams<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(parse(request.query_string()).map(Self))
    }
}

/// Parses `T` from a query string.
///
/// # Errors
/// Returns `malformed` for invalid escapes, and `invalid` with the key for a value that does not fit.
pub fn parse<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let mut given: IndexMap<String, Vec<String>> = IndexMap::new();
    for (key, value) in decode_pairs(query)? {
        given.entry(key).or_default().push(value);
    }
    let map = MapDeserializer::new(given.iter().map(|(key, values)| (key.as_str(), QueryValue { key, values })));
    serde_path_to_error::deserialize(map).map_err(|error| {
        let path = error.path().to_string();
        invalid_field(&path, reword_deserialize_error(&error.into_inner().to_string()))
    })
}

fn decode_pairs(query: &str) -> Result<Vec<(String, String)>, ApiError> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let (key, value) = (percent_decode(key)?, percent_decode(value)?);
            if value.contains('\0') || key.contains('\0') {
                return Err(ApiError::invalid(&printable(&key), "a text cannot contain U+0000"));
            }
            Ok((key, value))
        })
        .collect()
}

/// Decodes `%41` and `+`; fails if the result is not UTF-8.
fn percent_decode(text: &str) -> Result<String, ApiError> {
    let bad = || ApiError::new(ApiErrorCode::Malformed, "the query has a wrong escape or is not UTF-8");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().ok_or_else(bad)?, rest.next().ok_or_else(bad)?];
                let digits = std::str::from_utf8(&digits).ok().filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                u8::from_str_radix(digits.ok_or_else(bad)?, 16).map_err(|_| bad())?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

/// The values of one query key. A text is converted where a boolean is expected. A key may occur more than
/// once only where a list is expected.
#[derive(Clone, Copy)]
struct QueryValue<'a> {
    key: &'a str,
    values: &'a [String],
}

type QueryValueError = serde::de::value::Error;

impl<'a> QueryValue<'a> {
    fn single(self) -> Result<&'a str, QueryValueError> {
        match self.values {
            [one] => Ok(one),
            _ => Err(serde::de::Error::custom(format!("\"{}\" appears twice", printable(self.key)))),
        }
    }
}

impl<'a> IntoDeserializer<'a, QueryValueError> for QueryValue<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for QueryValue<'de> {
    type Error = QueryValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, QueryValueError> {
        visitor.visit_borrowed_str(self.single()?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, QueryValueError> {
        let parts = self.values.iter().map(|value| QueryValue { values: slice::from_ref(value), ..self });
        visitor.visit_seq(SeqDeserializer::new(parts))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, QueryValueError> {
        match self.single()? {
            "1" | "true" => visitor.visit_bool(true),
            "0" | "false" => visitor.visit_bool(false),
            other => visitor.visit_borrowed_str(other),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, QueryValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, QueryValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, QueryValueError> {
        visitor.visit_enum(IntoDeserializer::<QueryValueError>::into_deserializer(self.single()?))
    }

    // Numbers have types that know their range, such as `QueryNumber`.
    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct tuple tuple_struct map struct identifier ignored_any
    }
}

macro_rules! path_ids {
    ($($(#[$doc:meta])* $name:ident($id:ty) = $key:literal $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(pub $id);

        impl FromRequest for $name {
            type Error = ApiError;
            type Future = Ready<Result<Self, ApiError>>;

            fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
                ready(path_id(request, $key, $what).map(Self))
            }
        }

        impl $name {
            /// Name of the path parameter.
            pub const KEY: &'static str = $key;
            /// What it identifies, for messages.
            pub const WHAT: &'static str = $what;
        }
    )*};
}

path_ids! {
    /// The session id in a path.
    SessionIdPath(SessionId) = "sid" "the session";
    /// The node id in a path.
    NodeIdPath(NodeId) = "nid" "the message";
    /// The character id in a path.
    CharacterIdPath(CharacterId) = "cid" "the character";
    /// The persona id in a path.
    PersonaIdPath(PersonaId) = "pid" "the persona";
    /// The lorebook id in a path.
    LorebookIdPath(LorebookId) = "lid" "the lorebook";
    /// The preset id in a path.
    PresetIdPath(PresetId) = "rid" "the preset";
    /// The connection profile id in a path.
    ConnectionProfileIdPath(ConnectionProfileId) = "kid" "the connection profile";
    /// The job id in a path.
    JobIdPath(JobId) = "jid" "the job";
    /// The fragment id in a path.
    FragmentIdPath(FragmentId) = "fid" "the fragment";
    /// The id of a trash item in a path.
    TrashIdPath(TrashId) = "tid" "the item in the trash";
    /// The document id in a path.
    DocumentIdPath(DocumentId) = "oid" "the document";
    /// The summary id in a path.
    SummaryIdPath(SummaryId) = "mid" "the summary";
    /// The device id in a path.
    DeviceIdPath(DeviceId) = "vid" "the device";
    /// The draft id in a path.
    DraftIdPath(DraftId) = "did" "the draft";
}

fn path_id<Id: FromStr + fmt::Debug>(request: &HttpRequest, key: &str, what: &str) -> Result<Id, ApiError> {
    request.match_info().get(key).and_then(|text| text.parse().ok()).ok_or_else(|| ApiError::not_found(what))
}

/// The plugin id in a path.
#[derive(Debug, Clone)]
pub struct PluginIdPath(pub String);

impl FromRequest for PluginIdPath {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.match_info().get("plugin").unwrap_or_default().to_owned())))
    }
}

/// The provider id in a path.
#[derive(Debug, Clone)]
pub struct ProviderIdPath(pub String);

impl FromRequest for ProviderIdPath {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.match_info().get("provider").unwrap_or_default().to_owned())))
    }
}

/// The path of a plugin file in a URL path.
#[derive(Debug, Clone)]
pub struct PluginFilePath(pub String);

impl FromRequest for PluginFilePath {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let named = request.match_info().load::<PluginFileSegment>();
        ready(named.map(|named| Self(named.path)).map_err(|_| ApiError::not_found("the file")))
    }
}

/// The path segment that names a file. Extracted as a struct, it is percent-decoded.
#[derive(Deserialize)]
struct PluginFileSegment {
    path: String,
}

/// The number of a card's version in a path.
#[derive(Debug, Clone, Copy)]
pub struct CardVersionPath(pub i64);

impl FromRequest for CardVersionPath {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let number = request.match_info().get("n").and_then(|text| text.parse().ok());
        ready(number.map(Self).ok_or_else(|| ApiError::not_found(Self::WHAT)))
    }
}

impl CardVersionPath {
    /// What it identifies, for messages.
    pub const WHAT: &'static str = "the version";
}

/// The `uid` of a lorebook entry in a path: a number or a word.
#[derive(Debug, Clone)]
pub struct LoreEntryUidPath(pub String);

impl FromRequest for LoreEntryUidPath {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let named = request.match_info().load::<LoreEntryUidSegment>();
        ready(named.map(|path| Self(path.uid)).map_err(|_| ApiError::not_found("the entry")))
    }
}

/// The path segment that names an entry. Extracted as a struct, it is percent-decoded; a word may contain a slash.
#[derive(Deserialize)]
struct LoreEntryUidSegment {
    uid: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::wire::query_number::{PageLimit, QueryNumber};

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
    struct Shape {
        limit: Option<PageLimit>,
        since: Option<QueryNumber<0, { i64::MAX }>>,
        all: bool,
        q: Option<String>,
        kind: Option<Kind>,
        path: Vec<String>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        OffTrunk,
    }

    #[test]
    fn query_params_read_every_value_type() {
        let read: Shape = parse("all=1&q=%E9%BE%99+%26x&kind=off-trunk").unwrap();
        let shape = Shape { all: true, kind: Some(Kind::OffTrunk), ..Shape::default() };
        let numbers: Shape = parse("limit=500&since=9223372036854775807").unwrap();
        assert_eq!(numbers.limit.map(QueryNumber::get), Some(500));
        assert_eq!(numbers.since.map(QueryNumber::get), Some(i64::MAX));
        assert_eq!(read, Shape { q: Some("龙 &x".into()), ..shape });
        assert_eq!(parse::<Shape>("").unwrap(), Shape::default());
        assert_eq!(parse::<Shape>("q=123").unwrap().q.as_deref(), Some("123"));
        assert_eq!(parse::<Shape>("path=/a&limit=1&path=/b").unwrap().path, ["/a", "/b"], "a list takes a key twice");
    }

    #[test]
    fn query_params_fault_returns_code_and_key() {
        let check = |query: &str, code: ApiErrorCode, field: Option<&str>| {
            let error = parse::<Shape>(query).unwrap_err();
            assert_eq!(error.code, code, "{query}: {error}");
            assert_eq!(error.details.get("field").and_then(|f| f.as_str()), field, "{query}: {error}");
        };
        check("limt=5", ApiErrorCode::Invalid, Some("limt"));
        check("limit=five", ApiErrorCode::Invalid, Some("limit"));
        check("limit=-1", ApiErrorCode::Invalid, Some("limit"));
        check("limit=", ApiErrorCode::Invalid, Some("limit"));
        check("all=yes", ApiErrorCode::Invalid, Some("all"));
        check("kind=trunk", ApiErrorCode::Invalid, Some("kind"));
        check("limit=1&limit=2", ApiErrorCode::Invalid, Some("limit"));
        check("q=%00", ApiErrorCode::Invalid, Some("q"));
        check("q=%zz", ApiErrorCode::Malformed, None);
        check("q=%f", ApiErrorCode::Malformed, None);
        check("q=%ff", ApiErrorCode::Malformed, None);
        let page = "expected a whole number from 1 to 500";
        for (query, found, expected) in [
            ("limit=five", "the text \"five\"", page),
            ("limit=", "the text \"\"", page),
            ("limit=0", "0", page),
            ("limit=501", "501", page),
            ("limit=1.5", "the text \"1.5\"", page),
            ("limit=99999999999999999999", "99999999999999999999", page),
            ("since=-1", "-1", "expected a whole number, 0 or more"),
            ("since=99999999999999999999", "99999999999999999999", "expected a whole number, 0 or more"),
        ] {
            let error = parse::<Shape>(query).unwrap_err();
            assert_eq!(error.message, format!("got {found}, {expected}"), "{query}");
        }
        let words = parse::<Shape>("all=yes").unwrap_err().message.clone();
        assert_eq!(words, "invalid type: the text \"yes\", expected true or false");
    }
}
