//! The OpenAPI document as the source of the types of the page: the committed file, and what the generator relies on.

use super::api_session::ApiSession;
use super::*;
use crate::support::schema;
use std::collections::BTreeSet;

/// Returns the OpenAPI document of this program.
fn openapi_document() -> Value {
    clotho::http::openapi::json(&clotho::http::all_routes())
}

/// `docs/openapi.json` is the document of this program. With `WRITE_OPENAPI` in the environment, the test writes it.
#[test]
fn openapi_file_is_document_of_program() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");
    let text = serde_json::to_string_pretty(&openapi_document()).unwrap() + "\n";
    if std::env::var_os("WRITE_OPENAPI").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let is_current = std::fs::read_to_string(path).is_ok_and(|committed| committed == text);
    assert!(is_current, "write docs/openapi.json: WRITE_OPENAPI=1 cargo nextest run openapi_file, then npm run wire");
}

/// Returns the names of the schemas to which a part of the document refers, directly or through others.
fn referenced_schemas(document: &Value, part: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut texts = vec![part.to_string()];
    while let Some(text) = texts.pop() {
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            if found.insert(name.to_owned()) {
                texts.push(document["components"]["schemas"][name].to_string());
            }
        }
    }
    found
}

/// Returns the schemas that only answers and frames of the server use.
fn response_only_schemas(document: &Value) -> BTreeSet<String> {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    let items = document["paths"].as_object().unwrap().values();
    for operation in items.flat_map(|item| item.as_object().unwrap().values()) {
        asked.extend([operation["requestBody"].clone(), operation["x-websocket"]["takes"].clone()]);
        answered.extend([operation["responses"].clone(), operation["x-websocket"]["sends"].clone()]);
    }
    let asked = referenced_schemas(document, &asked.into());
    referenced_schemas(document, &answered.into()).difference(&asked).cloned().collect()
}

/// Returns a schema with all parts that are written inside it.
fn schema_parts(schema: &Value) -> Vec<&Value> {
    let inner = ["allOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    std::iter::once(schema).chain(inner.flat_map(schema_parts)).collect()
}

fn is_nullable(property: &Value) -> bool {
    let is_null = |one: &Value| *one == "null" || one["type"] == "null";
    ["type", "oneOf"].into_iter().any(|key| property[key].as_array().is_some_and(|list| list.iter().any(is_null)))
}

/// A field of an answer is always there and may be null, or it may be absent and is never null. utoipa describes an
/// `Option` as both, unless an attribute says which. Objects that other programs extend keep what these wrote.
#[test]
fn openapi_answer_fields_are_not_both_optional_and_nullable() {
    let document = openapi_document();
    let names = response_only_schemas(&document);
    assert!(names.len() > 100, "{names:?}");
    let mut faults = Vec::new();
    for name in names {
        let schema = &document["components"]["schemas"][&name];
        // `ReplyFacts` is a part of such objects.
        if name == "ReplyFacts" || schema.to_string().contains("#/components/schemas/OtherFields\"") {
            continue;
        }
        for part in schema_parts(schema) {
            for (field, property) in part["properties"].as_object().into_iter().flatten() {
                let is_required = part["required"].as_array().is_some_and(|list| list.contains(&json!(field)));
                if is_nullable(property) && !is_required {
                    faults.push(format!("{name}.{field}"));
                }
            }
        }
    }
    assert_eq!(faults, [""; 0], "see `CONTRIBUTING.md` on `required` and `nullable`");
}

/// The generator makes fields with a default required in answers.
#[tokio::test]
async fn answers_have_every_field_with_default() {
    let play = ApiSession::start().await;
    let wanted = json!({"authorsNote": {"text": "Rain."}, "recall": {"enabled": true}});
    play.server.request("PATCH", &format!("/api/sessions/{}", play.sid)).json(&wanted).send().await.expect(200);
    let session = play.session().await;
    let lore = play.server.get("/api/lorebooks/settings").await;
    let mut named = 0;
    for (name, value) in [
        ("AuthorsNoteFields", &session["authorsNote"]),
        ("RecallSettingsFields", &session["recall"]),
        ("WorldInfoSettingsFields", &lore),
        ("WorldInfoVectorSettings", &lore["similar"]),
    ] {
        let reference = schema::schema_reference(name);
        for (field, property) in schema::resolve_reference(&reference)["properties"].as_object().unwrap() {
            let has_default = property.get("default").is_some_and(|default| !default.is_null());
            assert!(!has_default || value.get(field).is_some(), "{name} has no {field}: {value}");
            named += usize::from(has_default);
        }
    }
    // No other schema of answers has defaults.
    let document = openapi_document();
    let schemas = response_only_schemas(&document);
    let of_answers = schemas.iter().map(|name| &document["components"]["schemas"][name]);
    let fields = of_answers.flat_map(|schema| schema["properties"].as_object().into_iter().flatten());
    assert_eq!(fields.filter(|(_, property)| property.get("default").is_some()).count(), 0);
    assert!(named > 20, "{named}");
}
