//! Generates the OpenAPI document from the route table and from the types of the handlers, so that document and server
//! always match. Extractors describe themselves in `describe.rs`.

use serde_json::Value;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ComponentsBuilder, KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{
    Content, HttpMethod, Info, OpenApi, OpenApiBuilder, PathItem, PathsBuilder, Ref, RefOr, Required,
};
use utoipa::{PartialSchema, ToSchema};

use super::caller::RouteAccess;
use super::describe::RouteDescription;
use super::error::ErrorResponse;
use super::idempotency;
use super::route_table::RouteEntry;

/// Builds the whole document.
pub fn build(entries: &[RouteEntry]) -> OpenApi {
    let mut components = ComponentsBuilder::new();
    let mut paths: Vec<(String, PathItem)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.path.starts_with("/api") || entry.is_operational()) {
        let mut description = RouteDescription::default();
        (entry.describe)(&mut description);
        let schemas = std::mem::take(&mut description.schemas);
        components = schemas.into_iter().fold(components, |all, (name, schema)| all.schema(name, schema));
        let operation = operation(entry, description);
        let path = entry.openapi_path();
        match paths.iter_mut().find(|(other, _)| *other == path) {
            Some((_, item)) => item.merge_operations(PathItem::new(method(entry), operation)),
            None => paths.push((path, PathItem::new(method(entry), operation))),
        }
    }
    components = components.schema(ErrorResponse::name(), ErrorResponse::schema());
    let paths = paths.into_iter().fold(PathsBuilder::new(), |all, (path, item)| all.path(path, item));
    let mut info = Info::new("Clotho", env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.to_owned());
    OpenApiBuilder::new().info(info).paths(paths).components(Some(components.build())).build()
}

const DESCRIPTION: &str = "Chats whose history is a tree, in which every message has its own state. All errors have \
    the form of `Error`. Text offsets count UTF-16 code units. Browsers send `X-CSRF-Token` with each write. Every POST \
    and PUT may have an `Idempotency-Key`.";

fn method(entry: &RouteEntry) -> HttpMethod {
    match entry.method.as_str() {
        "POST" => HttpMethod::Post,
        "PUT" => HttpMethod::Put,
        "PATCH" => HttpMethod::Patch,
        "DELETE" => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

fn operation(entry: &RouteEntry, mut description: RouteDescription) -> Operation {
    let json = |schema: RefOr<Schema>| Content::new(Some(schema));
    // Identity and parameters.
    description.parameters.extend(request_headers(entry));
    let mut operation = OperationBuilder::new()
        .tag(entry.group)
        .summary(Some(entry.summary))
        .description(Some(format!("For: {}.", entry.access.name())))
        .operation_id(Some(format!("{} {}", entry.method, entry.openapi_path())))
        .parameters(Some(description.parameters));
    // The request body: JSON, a file, or a form with a file.
    if let Some((schema, must_be)) = description.body {
        let required = if must_be { Required::True } else { Required::False };
        let body = RequestBodyBuilder::new().content("application/json", json(schema)).required(Some(required));
        operation = operation.request_body(Some(body.build()));
    }
    if !description.request_file_types.is_empty() {
        let body = RequestBodyBuilder::new().required(Some(Required::True));
        let body = description
            .request_file_types
            .iter()
            .fold(body, |body, kind| body.content(*kind, file_content_of_kind(kind)));
        operation = operation.request_body(Some(body.build()));
    }
    if description.accepts_upload_form {
        let body = RequestBodyBuilder::new()
            .content("multipart/form-data", form_content())
            .content("application/octet-stream", file_content())
            .required(Some(Required::True));
        operation = operation.request_body(Some(body.build()));
    }
    // WebSocket frames.
    if let Some([sends, takes]) = description.frames {
        let frames = serde_json::json!({"sends": sends, "takes": takes});
        operation = operation.extensions(Some(ExtensionsBuilder::new().add("x-websocket", frames).build()));
    }
    // The answers.
    for status in entry.statuses {
        let mut answer = ResponseBuilder::new().description(status_description(*status));
        if let (Some(schema), 200..=203) = (&description.response, status) {
            answer = answer.content("application/json", json(schema.clone()));
        }
        for kind in description.response_file_types.iter().filter(|_| *status == 200) {
            answer = answer.content(*kind, file_content());
        }
        if entry.supports_etag() && matches!(status, 200 | 304) {
            answer = add_etag_headers(entry, answer);
        }
        operation = operation.response(status.to_string(), answer.build());
    }
    operation.response("default", error_response()).build()
}

/// Returns the content of a binary file.
fn file_content() -> Content {
    Content::new(Some(RefOr::T(Schema::Object(binary_schema()))))
}

/// Returns the content for a media type. JSON files of other programs have no schema.
fn file_content_of_kind(kind: &str) -> Content {
    if kind == "application/json" { Content::default() } else { file_content() }
}

/// Returns a form with the single field `file`.
fn form_content() -> Content {
    let fields = ObjectBuilder::new().property("file", binary_schema()).required("file");
    Content::new(Some(RefOr::T(Schema::Object(fields.build()))))
}

fn binary_schema() -> utoipa::openapi::Object {
    let bytes = ObjectBuilder::new().schema_type(Type::String);
    bytes.format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).build()
}

/// Returns the headers that a request may have.
fn request_headers(entry: &RouteEntry) -> Vec<Parameter> {
    let header = |name: &str, about: &str| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(about))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .build()
    };
    let mut headers = Vec::new();
    if entry.supports_etag() {
        headers.push(header("If-None-Match", "The `ETag` of the stored answer: 304 if it is still the same"));
    }
    if entry.access == RouteAccess::User && idempotency::accepts_key(&entry.method) {
        headers.push(header(
            "Idempotency-Key",
            "1 to 200 visible characters: repeats of the request within a day have no effect",
        ));
    }
    if entry.access == RouteAccess::User && entry.method != "GET" {
        headers.push(header(
            "X-CSRF-Token",
            "From `/api/auth/me`: required for writes of a browser, not for other programs",
        ));
    }
    headers
}

/// Adds the headers of conditional answers.
fn add_etag_headers(entry: &RouteEntry, answer: ResponseBuilder) -> ResponseBuilder {
    let header = |kind: Type, about: &str| {
        HeaderBuilder::new().schema(Some(ObjectBuilder::new().schema_type(kind))).description(Some(about)).build()
    };
    let answer = answer.header("ETag", header(Type::String, "For `If-None-Match`"));
    if !entry.path.starts_with("/api/chat/") {
        return answer;
    }
    answer.header("Clotho-Op", header(Type::Integer, "The session's newest operation at the time of the read"))
}

fn error_response() -> Response {
    let schema = RefOr::Ref(Ref::from_schema_name(ErrorResponse::name()));
    ResponseBuilder::new().description("A refusal").content("application/json", Content::new(Some(schema))).build()
}

fn status_description(status: u16) -> &'static str {
    match status {
        101 => "The connection is now a WebSocket",
        201 => "Created",
        202 => "Started; an event reports the end",
        204 => "Done",
        304 => "Nothing has changed since the answer with this tag",
        _ => "The answer",
    }
}

/// Returns the document as JSON, with the table of error codes.
pub fn json(entries: &[RouteEntry]) -> Value {
    let mut document = serde_json::to_value(build(entries)).unwrap_or_default();
    if let Some(map) = document.as_object_mut() {
        map.insert("x-error-codes".to_owned(), super::error::codes_json());
    }
    document
}

/// Lists the operations of a document as `GET /api/sessions`.
pub fn list_operations(document: &Value) -> Vec<String> {
    let paths = document.get("paths").and_then(Value::as_object);
    let mut found: Vec<String> = Vec::new();
    for (path, item) in paths.into_iter().flatten() {
        let methods = item.as_object().into_iter().flatten().map(|(method, _)| method.to_uppercase());
        found.extend(methods.map(|method| format!("{method} {path}")));
    }
    found.sort();
    found
}
