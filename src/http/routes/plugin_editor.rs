//! The workshop: files of plugins read and written, and code that is not saved checked and tried. Files are those of the
//! folder in the settings and nowhere else; code comes only from who may install plugins.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::web;

use super::{AppData, load_node, load_session};
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::{PluginFilePath, PluginIdPath, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::plugin_editor::{
    CheckPluginRequest, CheckPluginResponse, PluginFileResponse, PluginReferenceResponse, PluginTestResponse,
    ReplayPluginRequest, ReplayPluginResponse, TryHookRequest, TryHookResponse, WritePluginFileRequest,
    WritePluginFileResponse,
};
use clotho_core::ids::{NodeId, SessionId};
use clotho_engine::turn::{HookTrialSpec, ReplaySpec};
use clotho_plugin::testing::run_tests_while;
use clotho_plugin::{CatalogueEntry, LoadedPlugin, PluginSource, ScriptError, ScriptLimits, folder};
use clotho_store::StoreReader;

/// The file that says what a plugin is.
const MANIFEST_FILE: &str = "plugin.toml";

/// So long the cases of a plugin may take all together; the case that is running then is the last.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// What scripts can call, the same for everybody: for an editor that completes and explains.
///
/// # Errors
/// None of its own.
pub async fn reference(_: Caller) -> ApiResult<PluginReferenceResponse> {
    ApiResponse::ok(&PluginReferenceResponse::all())
}

/// One file of a plugin: of the folder as it lies there, of a bundled one as it is inside the program.
///
/// # Errors
/// The caller may not install plugins, there is no such plugin, or it has no such file.
pub async fn read(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    path: PluginFilePath,
) -> ApiResult<PluginFileResponse> {
    check_may_install(&app, caller).await?;
    let path = path.0;
    let bytes = match app.catalogue.folder_of(&name.0) {
        Some(place) => {
            let file = path.clone();
            web::block(move || folder::read(&place, &file)).await.map_err(ApiError::internal)??
        }
        None => bundled_file(&app, &name.0, &path)?,
    };
    let length = bytes.len();
    ApiResponse::ok(&PluginFileResponse { path, content: String::from_utf8(bytes).ok(), bytes: length })
}

/// Writes a file of a plugin of the folder, and takes the plugin in at once if it can run. If it cannot, the file is kept and
/// what was there before goes on.
///
/// # Errors
/// The caller may not install plugins, the plugin is not in the folder, the path leads elsewhere, or it is too large.
pub async fn write(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    path: PluginFilePath,
    body: JsonBody<WritePluginFileRequest>,
) -> ApiResult<WritePluginFileResponse> {
    check_may_install(&app, caller).await?;
    let (place, path, content) = (plugin_folder(&app, &name.0)?, path.0, body.0.content);
    let (installed, file, id) = (Arc::clone(&app.catalogue), path.clone(), name.0.clone());
    let written = web::block(move || {
        folder::write(&place, &file, &content, &ScriptLimits::default())?;
        installed.reload(&id);
        Ok::<_, folder::PluginFileError>(())
    });
    written.await.map_err(ApiError::internal)??;
    tracing::info!(plugin = name.0, file = path, "a file of a plugin was written");
    ApiResponse::ok(&WritePluginFileResponse::new(path, app.catalogue.now().entry(&name.0)))
}

/// Deletes a file of a plugin of the folder, and takes the plugin in at once if it can run without it. If it cannot, what was
/// there before goes on.
///
/// # Errors
/// The caller may not install plugins, the plugin is not in the folder, it has no such file, or it is none without it.
pub async fn delete(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    path: PluginFilePath,
) -> ApiResult<WritePluginFileResponse> {
    check_may_install(&app, caller).await?;
    let (place, path) = (plugin_folder(&app, &name.0)?, path.0);
    let entry = main_file(&app, &name.0);
    if path == MANIFEST_FILE || path == entry {
        let error = ApiError::new(ApiErrorCode::Conflict, format!("without \"{path}\" this is no plugin"));
        return Err(error.hint("write another text into it, or remove the plugin's folder from `[plugins] dir`"));
    }
    let (installed, file, id) = (Arc::clone(&app.catalogue), path.clone(), name.0.clone());
    let deleted = web::block(move || {
        folder::delete(&place, &file)?;
        installed.reload(&id);
        Ok::<_, folder::PluginFileError>(())
    });
    deleted.await.map_err(ApiError::internal)??;
    tracing::info!(plugin = name.0, file = path, "a file of a plugin was deleted");
    ApiResponse::ok(&WritePluginFileResponse::new(path, app.catalogue.now().entry(&name.0)))
}

/// The file that a plugin begins with, as its code in force says.
fn main_file(app: &App, name: &str) -> String {
    let catalogue = app.catalogue.now();
    let loaded = catalogue.entry(name).and_then(|entry| entry.state.as_ref().ok());
    loaded.map_or("main.rhai", |loaded| loaded.manifest().entry.as_str()).to_owned()
}

/// Reads, compiles and checks a plugin, with texts in the place of its files.
///
/// # Errors
/// The caller may not bring code, or there is no such plugin.
pub async fn check(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    body: JsonBody<CheckPluginRequest>,
) -> ApiResult<CheckPluginResponse> {
    if !body.0.files.is_empty() {
        check_may_install(&app, caller).await?;
    }
    let loaded =
        load_with_edits(&app, name.0, body.0.files.into_iter().collect(), None, ScriptLimits::default()).await?;
    ApiResponse::ok(&CheckPluginResponse::new(&loaded))
}

/// Runs the cases of a plugin as `clotho plugin test` does, perhaps with texts that are not saved. Who goes away stops them.
///
/// # Errors
/// The caller may not install plugins, or there is no such plugin.
pub async fn test(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    body: JsonBody<CheckPluginRequest>,
) -> ApiResult<PluginTestResponse> {
    check_may_install(&app, caller).await?;
    let loaded =
        match load_with_edits(&app, name.0, body.0.files.into_iter().collect(), None, ScriptLimits::relaxed()).await? {
            Ok(loaded) => Arc::new(loaded),
            Err(error) => return ApiResponse::ok(&PluginTestResponse::from(error.as_ref())),
        };
    let (waits, plugin) = (CancelOnDrop(Arc::new(AtomicBool::new(true))), Arc::clone(&loaded));
    let (waiting, begun) = (Arc::clone(&waits.0), Instant::now());
    let goes_on = move || waiting.load(Ordering::Relaxed) && begun.elapsed() < TEST_TIMEOUT;
    let report = web::block(move || run_tests_while(&plugin, goes_on)).await.map_err(ApiError::internal)?;
    drop(waits);
    ApiResponse::ok(&PluginTestResponse::new(&loaded, &report))
}

/// Somebody waits for an answer; says no longer so when the request is over or given up.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Tries a hook or tool on a message of one of the caller's sessions, perhaps with code that is not saved. Writes nothing.
///
/// # Errors
/// The caller may not bring code, the plugin, session or message is not there, or there is no such hook or tool.
pub async fn try_hook(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    body: JsonBody<TryHookRequest>,
) -> ApiResult<TryHookResponse> {
    let asked = body.0;
    let (hook, tool) = asked.hook_and_tool(app.config.limits.message_bytes)?;
    let (session, node) = (asked.session_id.0, asked.node_id.0);
    match source_with_edits(&app, caller, name.0, asked.source, asked.files).await? {
        Ok(plugin) => {
            let trial = HookTrialSpec { plugin, hook, tool, session, node, text: asked.text };
            ApiResponse::ok_redacted(TryHookResponse::from(app.turns.try_hook(caller.0, trial).await?))
        }
        Err(error) => {
            check_owned(&app, caller, session, [Some(node)]).await?;
            ApiResponse::ok_redacted(TryHookResponse::from(error.as_ref()))
        }
    }
}

/// Runs the rules of a plugin again along a line of one of the caller's sessions, perhaps with code that is not saved. Writes
/// nothing, unless it is accepted: then the messages do what the rules say now, as one step that can be taken back.
///
/// # Errors
/// The caller may not bring code, or the plugin, the session or a message is not there. Accepted: the code is not the one in
/// force, the line was played by other rules, a rule fails, or something was done in the session meanwhile.
pub async fn replay(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    body: JsonBody<ReplayPluginRequest>,
) -> ApiResult<ReplayPluginResponse> {
    let asked = body.0;
    let session = asked.session_id.0;
    let (leaf, from) = (asked.leaf_id.map(|id| id.0), asked.from_node_id.map(|id| id.0));
    if asked.accept && (asked.source.is_some() || !asked.files.is_empty()) {
        let error = ApiError::invalid("accept", "only what the saved code does can be accepted");
        return Err(error.hint("save the files first, then accept without source and files"));
    }
    match source_with_edits(&app, caller, name.0, asked.source, asked.files).await? {
        Ok(plugin) if asked.accept => {
            let (made, arranged) = app.turns.accept(caller.0, ReplaySpec { plugin, session, leaf, from }).await?;
            let op = Some(arranged.op);
            Ok(ApiResponse::ok_redacted(ReplayPluginResponse { op, ..ReplayPluginResponse::from(made.rows) })?
                .at(arranged.op))
        }
        Ok(plugin) => {
            let made = app.turns.replay(caller.0, ReplaySpec { plugin, session, leaf, from }).await?;
            ApiResponse::ok_redacted(ReplayPluginResponse::from(made.rows))
        }
        Err(error) => {
            check_owned(&app, caller, session, [leaf, from]).await?;
            ApiResponse::ok_redacted(ReplayPluginResponse::from(error.as_ref()))
        }
    }
}

/// What is wrong with code is told to who may look at the messages that they name.
async fn check_owned<const N: usize>(
    app: &App,
    caller: Caller,
    session: SessionId,
    nodes: [Option<NodeId>; N],
) -> Result<(), ApiError> {
    let read = move |reader: &mut StoreReader<'_>| {
        let held = load_session(reader, caller, SessionIdPath(session))?;
        nodes.into_iter().flatten().try_for_each(|node| load_node(reader, &held, node).map(drop))
    };
    app.store.read(read).await
}

/// The plugin as it is in force, or with texts in the place of its files.
async fn source_with_edits(
    app: &App,
    caller: Caller,
    name: String,
    entry: Option<String>,
    files: BTreeMap<String, String>,
) -> Result<Result<Arc<LoadedPlugin>, Box<ScriptError>>, ApiError> {
    if entry.is_none() && files.is_empty() {
        let catalogue = app.catalogue.now();
        let known = catalogue.entry(&name).ok_or_else(|| ApiError::not_found("the plugin"))?;
        return Ok(known.state.clone());
    }
    check_may_install(app, caller).await?;
    Ok(load_with_edits(app, name, files.into_iter().collect(), entry, ScriptLimits::default()).await?.map(Arc::new))
}

/// The plugin with texts in the place of its files, loaded aside.
async fn load_with_edits(
    app: &App,
    name: String,
    mut texts: Vec<(String, String)>,
    entry: Option<String>,
    limits: ScriptLimits,
) -> Result<Result<LoadedPlugin, Box<ScriptError>>, ApiError> {
    let catalogue = app.catalogue.now();
    let known = catalogue.entry(&name).ok_or_else(|| ApiError::not_found("the plugin"))?;
    let loaded = known.state.as_ref().ok();
    let main = loaded.map_or("main.rhai", |loaded| loaded.manifest().entry.as_str()).to_owned();
    texts.extend(entry.map(|text| (main, text)));
    let bundled = loaded.map(|loaded| loaded.source().clone());
    let folder = app.catalogue.folder_of(&name);
    let loading = web::block(move || {
        let source = match (folder, bundled) {
            (Some(folder), _) => PluginSource::read(&folder)?,
            (None, Some(source)) => source,
            (None, None) => return Err(folder::PluginFileError::NotFound),
        };
        Ok(LoadedPlugin::load(folder::changed(&source, texts)?, &limits))
    });
    loading.await.map_err(ApiError::internal)?.map_err(|fault| match fault {
        // It stands in the body, not in the address.
        folder::PluginFileError::InvalidPath(_) => ApiError::invalid("files", fault.to_string()),
        other => other.into(),
    })
}

/// A file of a plugin that is inside the program.
fn bundled_file(app: &App, name: &str, path: &str) -> Result<Vec<u8>, ApiError> {
    let catalogue = app.catalogue.now();
    let entry = catalogue.entry(name).ok_or_else(|| ApiError::not_found("the plugin"))?;
    let file = entry.state.as_ref().ok().and_then(|loaded| loaded.source().files.get(path));
    Ok(file.ok_or(folder::PluginFileError::NotFound)?.to_vec())
}

/// What files a plugin has: of one in the folder those that lie there, also while they are broken and what was there goes on.
///
/// # Errors
/// The server is shutting down.
pub(super) async fn list_files(app: &App, entry: &CatalogueEntry) -> Result<Vec<String>, ApiError> {
    let names = |source: &PluginSource| source.files.keys().cloned().collect();
    let loaded = entry.state.as_ref().ok().map(|loaded| names(loaded.source()));
    let is_as_it_lies_there = loaded.is_some() && entry.reload_error.is_none();
    let Some(folder) = app.catalogue.folder_of(&entry.name).filter(|_| !is_as_it_lies_there) else {
        return Ok(loaded.unwrap_or_default());
    };
    let read = web::block(move || PluginSource::read(&folder)).await.map_err(ApiError::internal)?;
    // What keeps it from being read is the error that it is listed with.
    Ok(read.as_ref().map(names).unwrap_or_default())
}

/// The folder of a plugin, where it has one.
fn plugin_folder(app: &App, name: &str) -> Result<PathBuf, ApiError> {
    app.catalogue.folder_of(name).ok_or_else(|| match app.catalogue.now().entry(name) {
        Some(_) => {
            ApiError::new(ApiErrorCode::Forbidden, "this plugin is inside the program: its files are not to be changed")
                .hint("copy its folder from the sources into `[plugins] dir`; what lies there takes its place")
        }
        None => ApiError::not_found("the plugin"),
    })
}

/// Plugins are installed by who runs the server.
pub(super) async fn check_may_install(app: &App, caller: Caller) -> Result<(), ApiError> {
    let users = app.store.read::<_, ApiError, _>(|reader| Ok(reader.users()?)).await?;
    let is_one = users.iter().any(|user| user.id == caller.0 && matches!(user.role.as_str(), "owner" | "admin"));
    if is_one {
        Ok(())
    } else {
        Err(ApiError::new(ApiErrorCode::Forbidden, "only who runs the server installs plugins"))
    }
}
