//! The page: one document that names its files by their version, so that an upgrade never mixes two.

use actix_web::http::{Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};

use super::AppData;
use crate::app::App;
use crate::assets::WebAsset;
use crate::http::caller::ClientIdentity;
use crate::http::error::ApiError;
use crate::http::response::has;

/// Stand in the document for the address of its files, for the folder of its scripts and styles there, and for the links to
/// what a browser may ask for before a script has told it to.
const TEMPLATE_SLOTS: [&str; 3] = ["{{assets}}", "{{built}}", "{{ahead}}"];
/// What every page is made of.
const PRELOAD_FILES: [&str; 2] = ["vendor/preact.js", "built/js/first.js"];
/// What a story is made of beside that.
const STORY_PRELOAD_FILES: [&str; 3] = ["built/js/story.js", "vendor/marked.js", "vendor/purify.js"];

/// The document, at every address that the page shows.
///
/// # Errors
/// The page is not there.
pub async fn index(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let asset = app.assets.get("index.html").ok_or_else(|| ApiError::not_found("the page"))?;
    let [files, built, ahead] = TEMPLATE_SLOTS;
    let text = String::from_utf8_lossy(&asset.bytes)
        .replace(ahead, &preload_links(&app, request.path().starts_with("/s/")))
        .replace(built, app.assets.build_path())
        .replace(files, &format!("/assets/{}", app.assets.version()));
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.content_type("text/html; charset=utf-8").body(text))
}

/// An address that leads nowhere. Somebody who looks at it in a browser is shown the page, which says so; a program is refused.
///
/// # Errors
/// There is nothing.
pub async fn nowhere(via: ClientIdentity, app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let accepts = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let is_looked_at = request.method() == Method::GET && accepts.is_some_and(|accept| accept.contains("text/html"));
    if !is_looked_at || request.path().starts_with("/api/") {
        return Err(via.mask_refusal(ApiError::not_found("this address")));
    }
    let mut page = index(app, request).await?;
    *page.status_mut() = StatusCode::NOT_FOUND;
    Ok(page)
}

/// The links to what the page begins with. Modules that lie in a folder are too many to be named.
fn preload_links(app: &App, is_story: bool) -> String {
    let story = STORY_PRELOAD_FILES.iter().filter(|_| is_story);
    let all = PRELOAD_FILES.iter().chain(story).filter(|_| app.assets.is_immutable());
    all.map(|path| format!("<link rel=\"modulepreload\" href=\"{}/{path}\">", TEMPLATE_SLOTS[0])).collect()
}

/// A file of the page. Under another version than the present one nothing is there.
///
/// # Errors
/// The file is not there.
pub async fn asset(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let part = |name: &str| request.match_info().get(name).unwrap_or_default().to_owned();
    let is_present = part("version") == app.assets.version();
    let found = if is_present { app.assets.get(&part("path")) } else { None };
    let asset = found.ok_or_else(|| ApiError::not_found("the file"))?;
    let keep = if app.assets.is_immutable() { "public, max-age=31536000, immutable" } else { "no-cache" };
    Ok(send(&request, asset, keep))
}

/// The service worker. It stands at the root, because it may speak for the addresses below its own only, and is asked for
/// anew each time: an old one would hold an old page.
///
/// # Errors
/// The file is not there.
pub async fn offline(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let asset = app.assets.get("offline.js").ok_or_else(|| ApiError::not_found("the file"))?;
    Ok(send(&request, asset, "no-cache"))
}

/// The icon that browsers ask for by themselves.
///
/// # Errors
/// There is none.
pub async fn favicon(app: AppData, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let found = ["favicon.ico", "icon.svg"].iter().find_map(|path| app.assets.get(path));
    let asset = found.ok_or_else(|| ApiError::not_found("the icon"))?;
    Ok(send(&request, asset, "public, max-age=86400"))
}

fn send(request: &HttpRequest, asset: WebAsset, keep: &'static str) -> HttpResponse {
    let is_known = has(request.headers(), &asset.etag);
    let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    // Weak, because the bytes differ when they are compressed.
    answer.insert_header((header::ETAG, format!("W/{}", asset.etag)));
    answer.insert_header((header::CACHE_CONTROL, keep));
    if is_known { answer.finish() } else { answer.content_type(asset.mime.as_ref()).body(asset.bytes) }
}
