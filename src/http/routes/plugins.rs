//! Plugins and their commands.

use actix_web::HttpRequest;

use super::workshop::files_of;
use super::{Program, held, language};
use crate::http::answer::{Answer, Reply};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{PluginName, Query, Sid};
use crate::http::wire::host::{CommandInfo, PluginDetail, PluginInfo, commands};
use crate::http::wire::{List, Page, PageQuery};

/// Every plugin that this server knows, the broken ones with their errors.
///
/// # Errors
/// The page does not fit.
pub async fn list(app: Program, request: HttpRequest, _: Caller, query: Query<PageQuery>) -> Answer<Page<PluginInfo>> {
    let (limit, skip) = query.0.bounds()?;
    let (language, before) = (language(&request), usize::try_from(skip).unwrap_or(usize::MAX));
    let catalogue = app.catalogue.now();
    let entries = catalogue.entries().skip(before).take(usize::try_from(limit + 1).unwrap_or(0));
    Reply::ok(&PageQuery::page(entries.map(|entry| PluginInfo::new(entry, &language)).collect(), limit, skip))
}

/// One plugin with its manifest, its settings as a form, and its errors.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, request: HttpRequest, _: Caller, name: PluginName) -> Answer<PluginDetail> {
    let catalogue = app.catalogue.now();
    let entry = catalogue.entry(&name.0).ok_or_else(|| ApiError::not_found("the plugin"))?;
    let files = files_of(&app, entry).await?;
    Reply::ok(&PluginDetail::new(entry, files, &language(&request)))
}

/// The slash commands of a session's plugins.
///
/// # Errors
/// The session is not there.
pub async fn session_commands(
    app: Program,
    request: HttpRequest,
    caller: Caller,
    sid: Sid,
) -> Answer<List<CommandInfo>> {
    let session = app.store.read(move |reader| held(reader, caller, sid).map(|held| held.session)).await?;
    let language = language(&request);
    let playing = session.plugins.iter().filter(|plugin| plugin.enabled);
    let catalogue = app.catalogue.now();
    let loaded = playing.filter_map(|plugin| catalogue.get(&plugin.id));
    let list = List(loaded.flat_map(|loaded| commands(loaded.manifest(), &language)).collect());
    Ok(Reply::ok(&list)?.at(session.op))
}
