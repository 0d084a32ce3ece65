//! The route type. `dispatch` does what all routes have in common: it identifies the caller before the handler runs,
//! turns a panic into an error, and replays the first answer for a repeated key.

use std::panic::AssertUnwindSafe;

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::{Next, from_fn};
use actix_web::{Error, FromRequest, Handler, HttpMessage, Resource, Responder, Route, guard, web};
use futures_util::FutureExt;

use super::body::app;
use super::caller::{ClientIdentity, RouteAccess, identify};
use super::describe::{DescribeInput, DescribeOutput, RouteDescription};
use super::error::{ApiError, ApiErrorCode};
use super::idempotency;

/// One entry of the route table.
pub struct RouteEntry {
    /// HTTP method; GET also answers HEAD.
    pub method: Method,
    /// Path with `{names}`.
    pub path: &'static str,
    /// Required access of the caller.
    pub access: RouteAccess,
    /// What it does: imperative, one line, without a final period.
    pub summary: &'static str,
    /// Section of the API document.
    pub group: &'static str,
    /// Statuses of successful answers.
    pub statuses: &'static [u16],
    /// Describes the inputs and outputs of the handler.
    pub describe: fn(&mut RouteDescription),
    build_route: Box<dyn Fn() -> Route + Send + Sync>,
}

impl RouteEntry {
    /// Replaces the default status 200.
    #[must_use]
    pub fn with_statuses(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = statuses;
        self
    }

    /// Returns the path without the patterns inside its names.
    pub fn openapi_path(&self) -> String {
        self.path.replace(":.*}", "}")
    }

    /// Returns whether its answers have an `ETag`.
    pub fn supports_etag(&self) -> bool {
        self.statuses.contains(&304)
    }

    /// Returns whether it is for the operator of the server.
    pub fn is_operational(&self) -> bool {
        matches!(self.path, "/healthz" | "/readyz" | "/metrics")
    }
}

/// Builds a route.
pub fn route<F, Args>(
    method: Method,
    path: &'static str,
    access: RouteAccess,
    summary: &'static str,
    handler: F,
) -> RouteEntry
where
    F: Handler<Args> + Send + Sync,
    Args: FromRequest + DescribeInput + 'static,
    F::Output: Responder + DescribeOutput + 'static,
    <F::Output as Responder>::Body: 'static,
{
    let by = method.clone();
    let make = move || {
        let route = match by {
            Method::GET => web::route().guard(guard::Any(guard::Get()).or(guard::Head())),
            _ => web::method(by.clone()),
        };
        let guarded = from_fn(move |request: ServiceRequest, next: Next<BoxBody>| dispatch(access, request, next));
        route.to(handler.clone()).wrap(guarded)
    };
    let describe = |description: &mut RouteDescription| {
        Args::describe(description);
        F::Output::describe(description);
    };
    RouteEntry { method, path, access, summary, group: "", statuses: &[200], describe, build_route: Box::new(make) }
}

/// Assigns a section of the API document to all entries.
pub fn with_group(name: &'static str, entries: Vec<RouteEntry>) -> Vec<RouteEntry> {
    entries.into_iter().map(|entry| RouteEntry { group: name, ..entry }).collect()
}

/// Registers the table with the framework: one resource per path, and `405` for other methods. The framework tries
/// paths one after another, so paths with a common prefix are grouped in a scope and skipped with one comparison.
pub fn configure(config: &mut web::ServiceConfig, entries: &[RouteEntry]) {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for RouteEntry { path, .. } in entries {
        match groups.iter_mut().find(|(start, _)| *start == path_prefix(path)) {
            Some((_, paths)) if paths.contains(path) => {}
            Some((_, paths)) => paths.push(path),
            None => groups.push((path_prefix(path), vec![path])),
        }
    }
    for (start, paths) in groups {
        match paths.as_slice() {
            [alone] => config.service(resource(alone, alone, entries)),
            _ => config.service(paths.iter().fold(web::scope(start), |scope, path| {
                scope.service(resource(path, path.strip_prefix(start).unwrap_or(path), entries))
            })),
        };
    }
}

/// Returns the prefix of a path: its first two segments, as far as they are literal.
fn path_prefix(address: &str) -> &str {
    let steps = address.match_indices('/').map(|(at, _)| at).skip(1).chain([address.len()]);
    let words = steps.take(2).filter_map(|end| address.get(..end)).filter(|start| !start.contains('{'));
    words.last().unwrap_or_default()
}

/// Builds the resource of a path with all its methods; `rest` is the path below its scope.
fn resource(path: &str, rest: &str, entries: &[RouteEntry]) -> Resource {
    let here = || entries.iter().filter(|entry| entry.path == path);
    let mut methods: Vec<&str> = here().map(|entry| entry.method.as_str()).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    let allow = methods.join(", ");
    let refuse = move |via: ClientIdentity| {
        let mut refusal = ApiError::new(ApiErrorCode::MethodNotAllowed, format!("this address only supports {allow}"));
        refusal.allow = Some(allow.clone());
        std::future::ready(Err::<&str, ApiError>(via.mask_refusal(refusal)))
    };
    here()
        .fold(web::resource(rest), |resource, entry| resource.route((entry.build_route)()))
        .default_service(web::to(refuse))
}

/// Runs before every handler.
async fn dispatch(
    access: RouteAccess,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let http = request.request().clone();
    let caller = match app(&http).and_then(|app| identify(app, &http, access)) {
        Ok(caller) => caller,
        Err(refusal) => return Ok(request.error_response(refusal)),
    };
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    let work = async {
        match caller {
            Some(caller) if idempotency::has_key(&request) => idempotency::run_once(caller, request, next).await,
            _ => next.call(request).await,
        }
    };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Ok(ServiceResponse::from_err(error, http)),
        Err(panic) => Ok(ServiceResponse::from_err(ApiError::internal(panic_message(panic.as_ref())), http)),
    }
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("a panic: {}", text.unwrap_or("without a message"))
}
