//! The plugin editor: reads and writes plugin files, and checks and tries unsaved code. It only accesses files of the
//! configured plugin folder. Only callers who may install plugins can submit code.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::web;

use super::AppData;
use crate::app::App;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::{PluginFilePath, PluginIdPath};
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
use clotho_queries::lookup::check_nodes;

/// File name of the manifest.
const MANIFEST_FILE: &str = "plugin.toml";

/// Time limit for all test cases of a plugin; the case running at that time is the last.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the reference of the script API, for completion and help in an editor.
///
/// # Errors
/// Returns no error of its own.
pub async fn reference(_: Caller) -> ApiResult<PluginReferenceResponse> {
    ApiResponse::ok(&PluginReferenceResponse::all())
}

/// Returns a plugin file: from the plugin folder, or for a bundled plugin from the program.
///
/// # Errors
/// Returns an error if the caller may not install plugins, or the plugin or file does not exist.
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

/// Writes a file of a plugin in the folder, and reloads the plugin if it can run. Otherwise the file is kept and the
/// previous code stays active.
///
/// # Errors
/// Returns an error if the caller may not install plugins, the plugin is not in the folder, the path is invalid, or the
/// text is too large.
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

/// Deletes a file of a plugin in the folder, and reloads the plugin if it can run without it. Otherwise the previous
/// code stays active.
///
/// # Errors
/// Returns an error if the caller may not install plugins, the plugin is not in the folder, the file does not exist, or
/// the plugin cannot be without it.
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

/// Returns the entry script, as the active manifest names it.
fn main_file(app: &App, name: &str) -> String {
    let catalogue = app.catalogue.now();
    let loaded = catalogue.entry(name).and_then(|entry| entry.state.as_ref().ok());
    loaded.map_or("main.rhai", |loaded| loaded.manifest().entry.as_str()).to_owned()
}

/// Reads, compiles and checks a plugin with unsaved texts.
///
/// # Errors
/// Returns an error if the caller may not submit code or the plugin does not exist.
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

/// Runs the test cases of a plugin like `clotho plugin test`, optionally with unsaved texts. A disconnect of the client
/// stops them.
///
/// # Errors
/// Returns an error if the caller may not install plugins or the plugin does not exist.
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

/// Clears its flag when the request ends or is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Tries a hook or tool on a message of one of the caller's sessions, optionally with unsaved code. Writes nothing.
///
/// # Errors
/// Returns an error if the caller may not submit code, or the plugin, session, message, hook or tool does not exist.
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

/// Replays a plugin along a branch of one of the caller's sessions, optionally with unsaved code. Writes nothing unless
/// it is accepted; then the new deltas are written as one step that can be undone.
///
/// # Errors
/// Returns an error if the caller may not submit code, or the plugin, session or message does not exist. If accepted,
/// also if the code is not the active one, the branch was played with other rules, a hook fails, or the session has
/// changed.
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

/// Checks that the caller may read the messages that a request names, before errors of the code are reported.
async fn check_owned<const N: usize>(
    app: &App,
    caller: Caller,
    session: SessionId,
    nodes: [Option<NodeId>; N],
) -> Result<(), ApiError> {
    let nodes = nodes.into_iter().flatten();
    Ok(app.store.read(move |reader| check_nodes(reader, caller.0, session, nodes)).await?)
}

/// Returns the active plugin, or one loaded with unsaved texts.
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

/// Loads a separate copy of the plugin with unsaved texts.
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
        // The path is in the body, not in the URL.
        folder::PluginFileError::InvalidPath(_) => ApiError::invalid("files", fault.to_string()),
        other => other.into(),
    })
}

/// Returns a file of a bundled plugin.
fn bundled_file(app: &App, name: &str, path: &str) -> Result<Vec<u8>, ApiError> {
    let catalogue = app.catalogue.now();
    let entry = catalogue.entry(name).ok_or_else(|| ApiError::not_found("the plugin"))?;
    let file = entry.state.as_ref().ok().and_then(|loaded| loaded.source().files.get(path));
    Ok(file.ok_or(folder::PluginFileError::NotFound)?.to_vec())
}

/// Lists the files of a plugin. For one in the folder, the files on disk, even if they are broken and older code is
/// active.
///
/// # Errors
/// Returns an error if the server is shutting down.
pub(super) async fn list_files(app: &App, entry: &CatalogueEntry) -> Result<Vec<String>, ApiError> {
    let names = |source: &PluginSource| source.files.keys().cloned().collect();
    let loaded = entry.state.as_ref().ok().map(|loaded| names(loaded.source()));
    let is_as_it_lies_there = loaded.is_some() && entry.reload_error.is_none();
    let Some(folder) = app.catalogue.folder_of(&entry.name).filter(|_| !is_as_it_lies_there) else {
        return Ok(loaded.unwrap_or_default());
    };
    let read = web::block(move || PluginSource::read(&folder)).await.map_err(ApiError::internal)?;
    // If the folder cannot be read, the list entry of the plugin already has the error.
    Ok(read.as_ref().map(names).unwrap_or_default())
}

/// Returns the folder of a plugin, if it has one.
fn plugin_folder(app: &App, name: &str) -> Result<PathBuf, ApiError> {
    app.catalogue.folder_of(name).ok_or_else(|| match app.catalogue.now().entry(name) {
        Some(_) => {
            ApiError::new(ApiErrorCode::Forbidden, "this plugin is inside the program: its files are not to be changed")
                .hint("copy its folder from the sources into `[plugins] dir`; what lies there takes its place")
        }
        None => ApiError::not_found("the plugin"),
    })
}

/// Checks that the caller may install plugins, which only the operator may.
pub(super) async fn check_may_install(app: &App, caller: Caller) -> Result<(), ApiError> {
    let users = app.store.read::<_, ApiError, _>(|reader| Ok(reader.users()?)).await?;
    let is_one = users.iter().any(|user| user.id == caller.0 && matches!(user.role.as_str(), "owner" | "admin"));
    if is_one {
        Ok(())
    } else {
        Err(ApiError::new(ApiErrorCode::Forbidden, "only who runs the server installs plugins"))
    }
}
