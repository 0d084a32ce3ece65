//! Schemas of free JSON for the API document: any value, and objects with any fields. They name what
//! [`serde_json::Value`] and [`serde_json::Map`] are on the wire; nothing is ever made of these types.

use std::borrow::Cow;

use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// The schema of any JSON value.
#[derive(Debug)]
pub struct AnyJson;

impl PartialSchema for AnyJson {
    fn schema() -> RefOr<Schema> {
        let own = || Ref::from_schema_name(Self::name());
        let scalar = |kind: Type| ObjectBuilder::new().schema_type(kind);
        OneOfBuilder::new()
            .item(scalar(Type::Null))
            .item(scalar(Type::Boolean))
            .item(scalar(Type::Number))
            .item(scalar(Type::String))
            .item(ArrayBuilder::new().items(own()))
            .item(ObjectBuilder::new().additional_properties(Some(own())))
            .description(Some("Any JSON value"))
            .into()
    }
}

impl ToSchema for AnyJson {
    fn name() -> Cow<'static, str> {
        "Json".into()
    }
}

/// The schema of a JSON object with any fields.
#[derive(Debug)]
pub struct JsonMap;

impl PartialSchema for JsonMap {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .additional_properties(Some(Ref::from_schema_name(AnyJson::name())))
            .description(Some("A JSON object with any fields"))
            .into()
    }
}

impl ToSchema for JsonMap {
    fn name() -> Cow<'static, str> {
        "JsonObject".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((AnyJson::name().into_owned(), AnyJson::schema()));
    }
}

/// The schema of an object whose known fields are described beside it and which may have others.
#[derive(Debug)]
pub struct OtherFields;

impl PartialSchema for OtherFields {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .additional_properties(Some(AdditionalProperties::FreeForm(true)))
            .description(Some("Other fields, which clients may ignore"))
            .into()
    }
}

impl ToSchema for OtherFields {}
