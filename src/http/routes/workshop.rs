//! The workshop: files of plugins read and written, and code that is not saved checked and tried. Files are those of the
//! folder in the settings and nowhere else; code comes only from who may install plugins.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use actix_web::web;

use super::{Program, held, placed};
use crate::app::App;
use crate::http::answer::{Answer, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::query::{FilePath, PluginName, Sid};
use crate::http::wire::workshop::{
    CheckOf, Checked, PluginFile, PluginFileKept, PluginFileText, ReplayOf, Replayed, TriedAnswer, TryOf,
};
use crate::ids::{NodeId, SessionId};
use crate::plugin::{Limits, Loaded, ScriptError, Source, folder};
use crate::store::Reader;
use crate::turn::{Replay, Trial};

/// One file of a plugin of the folder.
///
/// # Errors
/// The caller may not install plugins, the plugin is not in the folder, or there is no such file.
pub async fn read(app: Program, caller: Caller, name: PluginName, path: FilePath) -> Answer<PluginFile> {
    may_install(&app, caller).await?;
    let (place, path) = (place(&app, &name.0)?, path.0);
    let file = path.clone();
    let bytes = web::block(move || folder::read(&place, &file)).await.map_err(ApiError::internal)??;
    let length = bytes.len();
    Reply::ok(&PluginFile { path, content: String::from_utf8(bytes).ok(), bytes: length })
}

/// Writes a file of a plugin of the folder, and takes the plugin in at once if it can run. If it cannot, the file is kept and
/// what was there before goes on.
///
/// # Errors
/// The caller may not install plugins, the plugin is not in the folder, the path leads elsewhere, or it is too large.
pub async fn write(
    app: Program,
    caller: Caller,
    name: PluginName,
    path: FilePath,
    body: Body<PluginFileText>,
) -> Answer<PluginFileKept> {
    may_install(&app, caller).await?;
    let (place, path, content) = (place(&app, &name.0)?, path.0, body.0.content);
    let (installed, file, id) = (Arc::clone(&app.catalogue), path.clone(), name.0.clone());
    let written = web::block(move || {
        folder::write(&place, &file, &content, &Limits::default())?;
        installed.renew(&id);
        Ok::<_, folder::FileFault>(())
    });
    written.await.map_err(ApiError::internal)??;
    tracing::info!(plugin = name.0, file = path, "a file of a plugin was written");
    Reply::ok(&PluginFileKept::new(path, app.catalogue.now().entry(&name.0)))
}

/// Reads, compiles and checks a plugin, with texts in the place of its files.
///
/// # Errors
/// The caller may not bring code, or there is no such plugin.
pub async fn check(app: Program, caller: Caller, name: PluginName, body: Body<CheckOf>) -> Answer<Checked> {
    if !body.0.files.is_empty() {
        may_install(&app, caller).await?;
    }
    let loaded = load(&app, name.0, body.0.files.into_iter().collect(), None).await?;
    Reply::ok(&Checked::new(&loaded))
}

/// Tries a hook on a message of one of the caller's sessions, perhaps with code that is not saved. Writes nothing.
///
/// # Errors
/// The caller may not bring code, the plugin, session or message is not there, or there is no such hook.
pub async fn try_hook(app: Program, caller: Caller, name: PluginName, body: Body<TryOf>) -> Answer<TriedAnswer> {
    let asked = body.0;
    let hook = asked.hook(app.config.limits.message_bytes)?;
    let (session, node) = (asked.session_id.0, asked.node_id.0);
    match plugin(&app, caller, name.0, asked.source, asked.files).await? {
        Ok(plugin) => {
            let trial = Trial { plugin, hook, session, node, text: asked.text };
            Reply::ok_in_short(TriedAnswer::from(app.turns.try_hook(caller.0, trial).await?))
        }
        Err(error) => {
            are_theirs(&app, caller, session, [Some(node)]).await?;
            Reply::ok_in_short(TriedAnswer::from(error.as_ref()))
        }
    }
}

/// Runs the rules of a plugin again along a line of one of the caller's sessions, perhaps with code that is not saved. Writes
/// nothing.
///
/// # Errors
/// The caller may not bring code, or the plugin, the session or a message is not there.
pub async fn replay(app: Program, caller: Caller, name: PluginName, body: Body<ReplayOf>) -> Answer<Replayed> {
    let asked = body.0;
    let session = asked.session_id.0;
    let (leaf, from) = (asked.leaf_id.map(|id| id.0), asked.from_node_id.map(|id| id.0));
    match plugin(&app, caller, name.0, asked.source, asked.files).await? {
        Ok(plugin) => {
            let rows = app.turns.replay(caller.0, Replay { plugin, session, leaf, from }).await?;
            Reply::ok_in_short(Replayed::from(rows))
        }
        Err(error) => {
            are_theirs(&app, caller, session, [leaf, from]).await?;
            Reply::ok_in_short(Replayed::from(error.as_ref()))
        }
    }
}

/// What is wrong with code is told to who may look at the messages that they name.
async fn are_theirs<const N: usize>(
    app: &App,
    caller: Caller,
    session: SessionId,
    nodes: [Option<NodeId>; N],
) -> Result<(), ApiError> {
    let read = move |reader: &mut Reader<'_>| {
        let held = held(reader, caller, Sid(session))?;
        nodes.into_iter().flatten().try_for_each(|node| placed(reader, &held, node).map(drop))
    };
    app.store.read(read).await
}

/// The plugin as it is in force, or with texts in the place of its files.
async fn plugin(
    app: &App,
    caller: Caller,
    name: String,
    entry: Option<String>,
    files: BTreeMap<String, String>,
) -> Result<Result<Arc<Loaded>, Box<ScriptError>>, ApiError> {
    if entry.is_none() && files.is_empty() {
        let catalogue = app.catalogue.now();
        let known = catalogue.entry(&name).ok_or_else(|| ApiError::not_found("the plugin"))?;
        return Ok(known.state.clone());
    }
    may_install(app, caller).await?;
    Ok(load(app, name, files.into_iter().collect(), entry).await?.map(Arc::new))
}

/// The plugin with texts in the place of its files, loaded aside.
async fn load(
    app: &App,
    name: String,
    mut texts: Vec<(String, String)>,
    entry: Option<String>,
) -> Result<Result<Loaded, Box<ScriptError>>, ApiError> {
    let catalogue = app.catalogue.now();
    let known = catalogue.entry(&name).ok_or_else(|| ApiError::not_found("the plugin"))?;
    let loaded = known.state.as_ref().ok();
    let main = loaded.map_or("main.rhai", |loaded| loaded.manifest().entry.as_str()).to_owned();
    texts.extend(entry.map(|text| (main, text)));
    let bundled = loaded.map(|loaded| loaded.source().clone());
    let folder = app.catalogue.folder_of(&name);
    let loading = web::block(move || {
        let source = match (folder, bundled) {
            (Some(folder), _) => Source::read(&folder)?,
            (None, Some(source)) => source,
            (None, None) => return Err(folder::FileFault::NotThere),
        };
        Ok(Loaded::load(folder::changed(&source, texts)?, &Limits::default()))
    });
    loading.await.map_err(ApiError::internal)?.map_err(|fault| match fault {
        // It stands in the body, not in the address.
        folder::FileFault::Path(_) => ApiError::invalid("files", fault.to_string()),
        other => other.into(),
    })
}

/// The folder of a plugin, where it has one.
fn place(app: &App, name: &str) -> Result<PathBuf, ApiError> {
    app.catalogue.folder_of(name).ok_or_else(|| match app.catalogue.now().entry(name) {
        Some(_) => ApiError::new(Code::Forbidden, "this plugin is inside the program: its files are not to be changed")
            .hint("copy its folder from the sources into `[plugins] dir`; what lies there takes its place"),
        None => ApiError::not_found("the plugin"),
    })
}

/// Plugins are installed by who runs the server.
async fn may_install(app: &App, caller: Caller) -> Result<(), ApiError> {
    let users = app.store.read::<_, ApiError, _>(|reader| Ok(reader.users()?)).await?;
    let is_one = users.iter().any(|user| user.id == caller.0 && matches!(user.role.as_str(), "owner" | "admin"));
    if is_one { Ok(()) } else { Err(ApiError::new(Code::Forbidden, "only who runs the server installs plugins")) }
}
