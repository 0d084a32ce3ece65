//! The plugin editor: reads and writes plugin files, and checks and tries unsaved code. It only accesses files of the
//! configured plugin folder. Only callers who may install plugins can submit code.

use std::collections::BTreeMap;
use std::sync::Arc;

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
use clotho_plugin::{LoadedPlugin, ScriptLimits, folder};
use clotho_queries::lookup::check_nodes;
use clotho_queries::workshop::{self, LoadResult, PluginEdits, WorkshopError, may_install};

/// File name of the manifest.
const MANIFEST_FILE: &str = "plugin.toml";

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
pub async fn read_file(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    path: PluginFilePath,
) -> ApiResult<PluginFileResponse> {
    check_may_install(&app, caller).await?;
    let bytes = workshop::read_file(&app.catalogue, &name.0, &path.0).await?;
    let length = bytes.len();
    ApiResponse::ok(&PluginFileResponse { path: path.0, content: String::from_utf8(bytes).ok(), bytes: length })
}

/// Writes a file of a plugin in the folder, and reloads the plugin if it can run. Otherwise the file is kept and the
/// previous code stays active.
///
/// # Errors
/// Returns an error if the caller may not install plugins, the plugin is not in the folder, the path is invalid, or the
/// text is too large.
pub async fn write_file(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    path: PluginFilePath,
    body: JsonBody<WritePluginFileRequest>,
) -> ApiResult<WritePluginFileResponse> {
    check_may_install(&app, caller).await?;
    let (place, path, content) = (workshop::editable_folder(&app.catalogue, &name.0)?, path.0, body.0.content);
    let (installed, file, id) = (Arc::clone(&app.catalogue), path.clone(), name.0.clone());
    let written = web::block(move || {
        folder::write(&place, &file, &content, &ScriptLimits::default())?;
        installed.reload(&id);
        Ok::<_, folder::PluginFileError>(())
    });
    written.await.map_err(ApiError::internal)??;
    tracing::info!(plugin = name.0, file = path, "a plugin file was written");
    ApiResponse::ok(&WritePluginFileResponse::new(path, app.catalogue.current().entry(&name.0)))
}

/// Deletes a file of a plugin in the folder, and reloads the plugin if it can run without it. Otherwise the previous
/// code stays active.
///
/// # Errors
/// Returns an error if the caller may not install plugins, the plugin is not in the folder, the file does not exist, or
/// the plugin cannot be without it.
pub async fn delete_file(
    app: AppData,
    caller: Caller,
    name: PluginIdPath,
    path: PluginFilePath,
) -> ApiResult<WritePluginFileResponse> {
    check_may_install(&app, caller).await?;
    let (place, path) = (workshop::editable_folder(&app.catalogue, &name.0)?, path.0);
    let entry = workshop::entry_file(&app.catalogue, &name.0);
    if path == MANIFEST_FILE || path == entry {
        let error = ApiError::new(ApiErrorCode::Conflict, format!("without \"{path}\" this is not a plugin"));
        return Err(error.hint("write another text into it, or remove the plugin's folder from `[plugins] dir`"));
    }
    let (installed, file, id) = (Arc::clone(&app.catalogue), path.clone(), name.0.clone());
    let deleted = web::block(move || {
        folder::delete(&place, &file)?;
        installed.reload(&id);
        Ok::<_, folder::PluginFileError>(())
    });
    deleted.await.map_err(ApiError::internal)??;
    tracing::info!(plugin = name.0, file = path, "a plugin file was deleted");
    ApiResponse::ok(&WritePluginFileResponse::new(path, app.catalogue.current().entry(&name.0)))
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
    let edits = PluginEdits { files: body.0.files, entry: None };
    let loaded = workshop::load_with_edits(&app.catalogue, &name.0, edits, ScriptLimits::default()).await?;
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
    let edits = PluginEdits { files: body.0.files, entry: None };
    let loaded = match workshop::load_with_edits(&app.catalogue, &name.0, edits, ScriptLimits::relaxed()).await? {
        Ok(loaded) => Arc::new(loaded),
        Err(error) => return ApiResponse::ok(&PluginTestResponse::from(error.as_ref())),
    };
    let report = workshop::run_tests(Arc::clone(&loaded)).await?;
    ApiResponse::ok(&PluginTestResponse::new(&loaded, &report))
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
            ApiResponse::ok_redacted(TryHookResponse::from(app.turns.rules.try_hook(caller.0, trial).await?))
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
/// also if the code is not the active one, the branch was played with other rules, a hook fails, or the session or the
/// code has changed since the replay that the caller saw.
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
        let error = ApiError::invalid("accept", "only results of the saved code can be accepted");
        return Err(error.hint("save the files first, then accept without source and files"));
    }
    if asked.accept && asked.shown.is_none() {
        let error = ApiError::invalid("shown", "the replay to accept is missing");
        return Err(error.hint("run the replay without accept, look at it, and send the `shown` of its answer"));
    }
    match source_with_edits(&app, caller, name.0, asked.source, asked.files).await? {
        Ok(plugin) if asked.accept => {
            let (replayed, arranged) = app
                .turns
                .rules
                .accept(caller.0, ReplaySpec { plugin, session, leaf, from }, asked.shown.as_deref())
                .await?;
            let op = Some(arranged.op);
            Ok(ApiResponse::ok_redacted(ReplayPluginResponse { op, ..ReplayPluginResponse::from(replayed.rows) })?
                .with_operation(arranged.op))
        }
        Ok(plugin) => {
            let replayed = app.turns.rules.replay(caller.0, ReplaySpec { plugin, session, leaf, from }).await?;
            let shown = Some(replayed.shown);
            ApiResponse::ok_redacted(ReplayPluginResponse { shown, ..ReplayPluginResponse::from(replayed.rows) })
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
) -> Result<LoadResult<Arc<LoadedPlugin>>, ApiError> {
    let edits = PluginEdits { files, entry };
    if !edits.is_empty() {
        check_may_install(app, caller).await?;
    }
    Ok(workshop::active_or_edited(&app.catalogue, &name, edits).await?)
}

/// Checks that the caller may install plugins, which only the operator may.
pub(super) async fn check_may_install(app: &App, caller: Caller) -> Result<(), ApiError> {
    if app.store.read(move |reader| may_install(reader, caller.0)).await? {
        Ok(())
    } else {
        Err(ApiError::new(ApiErrorCode::Forbidden, "only the owner of the server can install plugins"))
    }
}

impl From<WorkshopError> for ApiError {
    fn from(error: WorkshopError) -> Self {
        let message = error.to_string();
        match error {
            WorkshopError::NotFound => Self::new(ApiErrorCode::NotFound, message),
            WorkshopError::Bundled => Self::new(ApiErrorCode::Forbidden, message)
                .hint("copy its folder from the sources into `[plugins] dir`, which replaces the bundled plugin"),
            WorkshopError::File(fault) => fault.into(),
            // The path is in the body, not in the URL.
            WorkshopError::InvalidEditPath(_) => Self::invalid("files", message),
            WorkshopError::Task(error) => Self::internal(error),
        }
    }
}
