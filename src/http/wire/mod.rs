//! The request and response types, exactly as the API document describes them: camelCase, times in ISO 8601 UTC, ids as
//! lower-case UUIDs. The domain knows nothing of client JSON; this folder only converts between the two.
//!
//! `ids.rs` and `enums.rs` have the common types; each other file has one kind of thing. To add a field: add it here
//! with a doc comment, which appears in the API document. To add a type: a struct with `ToSchema` and with `Serialize`
//! (responses) or with `Deserialize` and `deny_unknown_fields` (requests).

pub mod authors_note;
pub mod branches;
pub mod card_versions;
pub mod cards;
pub mod checks;
pub mod connection_profiles;
pub mod devices;
pub mod display_scripts;
pub mod documents;
pub mod drafts;
pub mod embedded_plugin;
pub mod enums;
pub mod events;
pub mod exports;
pub mod health_problem;
pub mod ids;
pub mod image_proxy;
pub mod import_report;
pub mod jobs;
pub mod lorebooks;
pub mod messages;
pub mod node;
pub mod parameters;
pub mod plugin_editor;
mod plugin_tests;
pub mod presets;
pub mod prompt_preview;
pub mod providers;
pub mod query_number;
pub mod records;
pub mod reply_records;
pub mod script_consent;
mod script_errors;
pub mod search;
pub mod server_info;
pub mod session_list;
pub mod sessions;
pub mod string_enums;
pub mod summaries;
pub mod transcript;
pub mod trash;
pub mod tree;
pub mod tree_edits;
pub mod turns;
pub mod world;

use std::borrow::Cow;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{IntoParams, PartialSchema, ToSchema};

pub use self::query_number::MAX_PAGE_SIZE;
use self::query_number::PageLimit;
use super::body::JsonObject;
use super::error::ApiError;
use clotho_core::secret_names;

/// One page of a list.
#[derive(Debug, Serialize)]
pub struct PageResponse<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// Cursor of the next page; null on the last page.
    pub next: Option<String>,
}

impl<T: ToSchema> PartialSchema for PageResponse<T> {
    fn schema() -> RefOr<Schema> {
        let items = ArrayBuilder::new().items(utoipa::openapi::Ref::from_schema_name(T::name()));
        let text_or_null = SchemaType::from_iter([Type::String, Type::Null]);
        ObjectBuilder::new()
            .property("items", items)
            .required("items")
            .property("next", ObjectBuilder::new().schema_type(text_or_null))
            .required("next")
            .into()
    }
}

impl<T: ToSchema> ToSchema for PageResponse<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Page", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// A list without pages.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct ListResponse<T>(pub Vec<T>);

impl<T: ToSchema> PartialSchema for ListResponse<T> {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(utoipa::openapi::Ref::from_schema_name(T::name())).into()
    }
}

impl<T: ToSchema> ToSchema for ListResponse<T> {
    fn name() -> Cow<'static, str> {
        format!("{}List", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// The page of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Maximum number of items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
}

impl PageQuery {
    /// Returns the page size and the offset.
    ///
    /// # Errors
    /// Returns an error if the cursor is invalid.
    pub fn limit_and_offset(&self) -> Result<(i64, i64), ApiError> {
        let skip = self.cursor.as_deref().map_or(Ok(0), decode_cursor)?;
        Ok((limit_or(self.limit, 50), skip))
    }

    /// Builds a page from one item more than requested, which shows whether there is a next page.
    pub fn page<T>(mut read: Vec<T>, limit: i64, skip: i64) -> PageResponse<T> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let next = (read.len() > wanted).then(|| encode_cursor(skip + limit));
        read.truncate(wanted);
        PageResponse { items: read, next }
    }
}

/// Returns the requested page size, or the default.
pub fn limit_or(given: Option<PageLimit>, default: i64) -> i64 {
    given.map_or(default, PageLimit::get)
}

/// Encodes a number as an opaque cursor.
pub fn encode_cursor(number: i64) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("c{number}"))
}

/// Decodes a cursor.
///
/// # Errors
/// Returns an error if this server did not issue the cursor.
pub fn decode_cursor(text: &str) -> Result<i64, ApiError> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).ok();
    let number = bytes.and_then(|bytes| String::from_utf8(bytes).ok()?.strip_prefix('c')?.parse().ok());
    let message = "this is not a cursor of this server: use the value of \"next\"";
    number.filter(|n| *n >= 0).ok_or_else(|| ApiError::invalid("cursor", message))
}

/// Distinguishes `null` (`Some(None)`) from an absent field (`None`).
///
/// # Errors
/// Returns an error if the value has the wrong type.
pub fn deserialize_nullable_option<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}

/// Deserializes a field that can only be null.
///
/// # Errors
/// Returns an error if the value is not null.
pub fn deserialize_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<()>, D::Error> {
    match Option::<IgnoredAny>::deserialize(from)? {
        None => Ok(Some(())),
        Some(_) => Err(D::Error::custom("expected null")),
    }
}

/// Deserializes an optional field that must not be `null`.
///
/// # Errors
/// Returns an error if the value has the wrong type.
pub fn deserialize_non_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Deserializes model parameters. Secrets are refused, because parameters are recorded with replies and exported.
///
/// # Errors
/// Returns an error if the value is no object, or names a secret.
pub fn deserialize_params<'de, D: Deserializer<'de>>(from: D) -> Result<Map<String, Value>, D::Error> {
    check_params(Map::deserialize(from)?)
}

/// Deserializes optional model parameters.
///
/// # Errors
/// Like [`deserialize_params`].
pub fn deserialize_optional_params<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Map<String, Value>>, D::Error> {
    Option::<Map<String, Value>>::deserialize(from)?.map(check_params).transpose()
}

fn check_params<E: serde::de::Error>(params: Map<String, Value>) -> Result<Map<String, Value>, E> {
    match secret_names::first_secret(&params) {
        None => Ok(params),
        Some(name) => Err(E::custom(format!(
            "\"{name}\" looks like a secret, and parameters are recorded: set it as api_key or in extra of the provider"
        ))),
    }
}

/// Deserializes a list of objects.
///
/// # Errors
/// Returns an error if an item has the wrong type or is no object.
pub fn deserialize_objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Vec::<JsonObject<T>>::deserialize(from).map(|list| list.into_iter().map(|object| object.0).collect())
}

/// Deserializes an optional list of objects.
///
/// # Errors
/// As [`deserialize_objects`].
pub fn deserialize_optional_objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let list = Option::<Vec<JsonObject<T>>>::deserialize(from)?;
    Ok(list.map(|list| list.into_iter().map(|object| object.0).collect()))
}

/// Deserializes an optional object.
///
/// # Errors
/// Returns an error if the value has the wrong type or is no object.
pub fn deserialize_optional_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<JsonObject<T>>::deserialize(from)?.map(|object| object.0))
}

/// Deserializes an object.
///
/// # Errors
/// Returns an error if the value has the wrong type or is no object.
pub fn deserialize_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    JsonObject::<T>::deserialize(from).map(|object| object.0)
}

/// Deserializes an object or null; null becomes `Some(None)`.
///
/// # Errors
/// Returns an error if the value has the wrong type or is no object.
pub fn deserialize_nullable_object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    deserialize_optional_object(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_round_trips_and_foreign_text_is_refused() {
        assert_eq!(decode_cursor(&encode_cursor(150)).unwrap(), 150);
        for bad in ["", "150", "!!", "Yy0x", &encode_cursor(-1)] {
            assert_eq!(decode_cursor(bad).unwrap_err().details["field"], "cursor", "{bad}");
        }
    }

    #[test]
    fn page_response_with_more_items_has_next_cursor() {
        assert_eq!(PageQuery::page(vec![1, 2, 3], 2, 0).next, Some(encode_cursor(2)));
        assert_eq!(PageQuery::page(vec![1, 2], 2, 0).next, None);
    }
}
