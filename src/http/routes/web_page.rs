//! The web page: one HTML document that names its files by version, so that an upgrade never mixes two versions.

use actix_web::http::{Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};

use super::AppData;
use crate::assets::WebAsset;
use crate::http::caller::ClientIdentity;
use crate::http::error::ApiError;
use crate::http::response::matches_etag;

/// Placeholders in the document: the URL of its files, and the preload links.
const TEMPLATE_SLOTS: [&str; 2] = ["{{assets}}", "{{ahead}}"];
/// Files that every view needs.
const PRELOAD_FILES: [&str; 2] = ["vendor/preact.js", "built/js/first.js"];
/// Files that the view of a session needs in addition.
const STORY_PRELOAD_FILES: [&str; 3] = ["built/js/story.js", "vendor/marked.js", "vendor/purify.js"];

/// Returns the HTML document, for every address of the page.
///
/// # Errors
/// Returns an error if the document is missing.
pub async fn index(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let asset = app.assets.get("index.html").ok_or_else(|| ApiError::not_found("the page"))?;
    let [files, ahead] = TEMPLATE_SLOTS;
    let text = String::from_utf8_lossy(&asset.bytes)
        .replace(ahead, &preload_links(request.path().starts_with("/s/")))
        .replace(files, &format!("/assets/{}", app.assets.version()));
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.content_type("text/html; charset=utf-8").body(text))
}

/// Answers unknown addresses. A browser gets the page, which reports it; a program gets an error.
///
/// # Errors
/// Returns an error unless the request is a browser's page load outside `/api/`.
pub async fn not_found(via: ClientIdentity, app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let accepts = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let is_looked_at = request.method() == Method::GET && accepts.is_some_and(|accept| accept.contains("text/html"));
    if !is_looked_at || request.path().starts_with("/api/") {
        return Err(via.mask_refusal(ApiError::not_found("this address")));
    }
    let mut page = index(app, request).await?;
    *page.status_mut() = StatusCode::NOT_FOUND;
    Ok(page)
}

/// Returns the preload links.
fn preload_links(is_story: bool) -> String {
    let story = STORY_PRELOAD_FILES.iter().filter(|_| is_story);
    PRELOAD_FILES
        .iter()
        .chain(story)
        .map(|path| format!("<link rel=\"modulepreload\" href=\"{}/{path}\">", TEMPLATE_SLOTS[0]))
        .collect()
}

/// Returns a file of the page; only for the current version.
///
/// # Errors
/// Returns an error if the file does not exist.
pub async fn asset(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let part = |name: &str| request.match_info().get(name).unwrap_or_default().to_owned();
    let is_present = part("version") == app.assets.version();
    let found = if is_present { app.assets.get(&part("path")) } else { None };
    let asset = found.ok_or_else(|| ApiError::not_found("the file"))?;
    let keep = if app.assets.is_immutable() { "public, max-age=31536000, immutable" } else { "no-cache" };
    Ok(send(&request, asset, keep))
}

/// Returns the service worker. It is at the root, because it can only control addresses below its own. Browsers always
/// revalidate it, since an old one would keep an old page.
///
/// # Errors
/// Returns an error if the file does not exist.
pub async fn offline(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let asset = app.assets.get("built/offline.js").ok_or_else(|| ApiError::not_found("the file"))?;
    Ok(send(&request, asset, "no-cache"))
}

/// Returns the icon that browsers request by default.
///
/// # Errors
/// Returns an error if there is none.
pub async fn favicon(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let found = ["favicon.ico", "icon.svg"].iter().find_map(|path| app.assets.get(path));
    let asset = found.ok_or_else(|| ApiError::not_found("the icon"))?;
    Ok(send(&request, asset, "public, max-age=86400"))
}

fn send(request: &HttpRequest, asset: WebAsset, keep: &'static str) -> HttpResponse {
    let is_known = matches_etag(request.headers(), &asset.etag);
    let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    // Weak, because compression changes the bytes.
    answer.insert_header((header::ETAG, format!("W/{}", asset.etag)));
    answer.insert_header((header::CACHE_CONTROL, keep));
    if is_known { answer.finish() } else { answer.content_type(asset.mime.as_ref()).body(asset.bytes) }
}
