//! The API document: as OpenAPI, and as an HTML page generated from it.

use std::fmt::Write as _;
use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header;
use serde_json::Value;

use crate::http::error::ApiError;
use crate::http::openapi;
use crate::http::route_table;

/// The document, generated once; it never changes while the server runs.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::json(&crate::http::all_routes()));
static PAGE: LazyLock<String> = LazyLock::new(|| page(&DOCUMENT));

/// Returns the OpenAPI document.
///
/// # Errors
/// Never.
pub async fn openapi() -> Result<HttpResponse, ApiError> {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-cache"));
    Ok(answer.content_type("application/json").body(DOCUMENT.to_string()))
}

/// Returns the document as an HTML page.
///
/// # Errors
/// Never.
pub async fn read() -> Result<HttpResponse, ApiError> {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-cache"));
    Ok(answer.content_type("text/html; charset=utf-8").body(PAGE.as_str()))
}

/// Returns the stylesheet of the HTML page.
///
/// # Errors
/// Never.
pub async fn style() -> Result<HttpResponse, ApiError> {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-cache"));
    Ok(answer.content_type("text/css; charset=utf-8").body(STYLE))
}

const STYLE: &str = "\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { border-bottom: 1px solid; margin-top: 2.5rem; }
summary { cursor: pointer; padding: .25rem 0; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
table { border-collapse: collapse; margin: .5rem 0; width: 100%; }
td, th { border: 1px solid; padding: .2rem .5rem; text-align: left; vertical-align: top; }
details details { margin-left: 1rem; }
.method { display: inline-block; min-width: 4.5rem; font-weight: bold; }
.about { opacity: .8; }
";

/// Builds the page: sections and routes, then schemas and error codes.
fn page(document: &Value) -> String {
    let mut html = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Clotho: HTTP</title>\
         <link rel=\"stylesheet\" href=\"/api/docs/style.css\"></head><body><h1>Clotho: HTTP</h1>\n",
    );
    let text = |value: &Value, path: &str| escape(value.pointer(path).and_then(Value::as_str).unwrap_or_default());
    let _ =
        write!(html, "<p>{}</p><p><a href=\"/api/openapi.json\">OpenAPI</a></p>", text(document, "/info/description"));
    let mut chapter = "";
    for entry in crate::http::all_routes() {
        let path = entry.openapi_path();
        let pointer =
            format!("/paths/{}/{}", path.replace('~', "~0").replace('/', "~1"), entry.method.as_str().to_lowercase());
        let Some(operation) = document.pointer(&pointer) else { continue };
        if chapter != entry.group {
            chapter = entry.group;
            let _ = writeln!(html, "<h2>{}</h2>", escape(chapter));
        }
        operation_html(&mut html, &entry, &path, operation);
    }
    html.push_str("<h2>Shapes</h2>\n");
    for (name, schema) in document.pointer("/components/schemas").and_then(Value::as_object).into_iter().flatten() {
        let about = text(schema, "/description");
        let _ = write!(html, "<details id=\"{0}\"><summary><code>{0}</code> {about}</summary>", escape(name));
        properties(&mut html, schema);
        html.push_str("</details>\n");
    }
    html.push_str("<h2>Refusals</h2><table><tr><th>code</th><th>status</th><th>what to do</th></tr>");
    for code in document.get("x-error-codes").and_then(Value::as_array).into_iter().flatten() {
        let status = code.get("status").map(ToString::to_string).unwrap_or_default();
        let _ = write!(
            html,
            "<tr><td><code>{}</code></td><td>{status}</td><td>{}</td></tr>",
            text(code, "/code"),
            text(code, "/hint")
        );
    }
    html.push_str("</table></body></html>\n");
    html
}

fn operation_html(html: &mut String, entry: &route_table::RouteEntry, path: &str, operation: &Value) {
    let _ = write!(
        html,
        "<details><summary><span class=\"method\">{}</span> <code>{}</code> <span class=\"about\">{}</span></summary>",
        entry.method,
        escape(path),
        escape(entry.summary)
    );
    let _ = write!(html, "<p>For: {}.</p>", entry.access.name());
    let parameters = operation.get("parameters").and_then(Value::as_array);
    for parameter in parameters.into_iter().flatten() {
        let word = |key: &str| escape(parameter.get(key).and_then(Value::as_str).unwrap_or_default());
        let _ = write!(html, "<p><code>{}</code> ({}): {}</p>", word("name"), word("in"), word("description"));
    }
    if let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema") {
        let _ = write!(html, "<p>Takes {}</p>", kind(schema));
    }
    if let (Some(sends), Some(takes)) =
        (operation.pointer("/x-websocket/sends"), operation.pointer("/x-websocket/takes"))
    {
        let _ = write!(html, "<p>Sends frames {}, takes frames {}</p>", kind(sends), kind(takes));
    }
    for (status, answer) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
        let shape = answer.pointer("/content/application~1json/schema").map(kind).unwrap_or_default();
        let about = escape(answer.get("description").and_then(Value::as_str).unwrap_or_default());
        let _ = write!(html, "<p><code>{}</code> {about} {shape}</p>", escape(status));
    }
    html.push_str("</details>\n");
}

fn properties(html: &mut String, schema: &Value) {
    let parts = schema.get("allOf").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![schema.clone()]);
    html.push_str("<table>");
    for part in &parts {
        if part.get("$ref").is_some() {
            let _ = write!(html, "<tr><td></td><td>{}</td><td>its fields too</td></tr>", kind(part));
        }
        for (name, property) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let about = escape(property.get("description").and_then(Value::as_str).unwrap_or_default());
            let _ = write!(
                html,
                "<tr><td><code>{}</code></td><td>{}</td><td>{about}</td></tr>",
                escape(name),
                kind(property)
            );
        }
    }
    html.push_str("</table>");
}

/// Describes a schema in a few words, with links to named schemas.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
        return format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(name));
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        if let Some(list) = schema.get(key).and_then(Value::as_array) {
            return list.iter().map(kind).collect::<Vec<_>>().join(" | ");
        }
    }
    if let Some(items) = schema.get("items") {
        return format!("{}[]", kind(items));
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words
            .iter()
            .map(|word| format!("<code>{}</code>", escape(&word.to_string())))
            .collect::<Vec<_>>()
            .join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(word)) => escape(word),
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(escape).collect::<Vec<_>>().join(" | "),
        _ => "any".to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
