//! The plugin workshop: files of plugins, and plugins with texts that are not saved yet, checked and tested.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::{JoinError, spawn_blocking};

use clotho_core::ids::UserId;
use clotho_plugin::folder::{self, PluginFileError};
use clotho_plugin::testing::{PluginTestReport, run_tests_while};
use clotho_plugin::{CatalogueEntry, InstalledPlugins, LoadedPlugin, PluginSource, ScriptError, ScriptLimits};
use clotho_store::{StoreError, StoreReader};

/// Time limit for all test cases of a plugin; the case running at that time is the last.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The entry script of a plugin that names none.
const DEFAULT_ENTRY: &str = "main.rhai";

/// A plugin that was loaded, or why it cannot run.
pub type LoadResult<P> = Result<P, Box<ScriptError>>;

/// Texts of a plugin that are not saved yet.
#[derive(Debug, Clone, Default)]
pub struct PluginEdits {
    /// By path; they replace or add files.
    pub files: BTreeMap<String, String>,
    /// The text of the entry script.
    pub entry: Option<String>,
}

/// Why the workshop has no answer.
#[derive(Debug, thiserror::Error)]
pub enum WorkshopError {
    #[error("the plugin does not exist")]
    NotFound,
    /// The plugin is inside the program.
    #[error("this plugin is bundled with the program: its files cannot be changed")]
    Bundled,
    #[error(transparent)]
    File(#[from] PluginFileError),
    /// A path of an unsaved text is invalid.
    #[error("{0}")]
    InvalidEditPath(PluginFileError),
    /// A blocking task did not end.
    #[error("a plugin task failed: {0}")]
    Task(#[from] JoinError),
}

impl PluginEdits {
    /// Returns whether nothing differs from the saved texts.
    pub fn is_empty(&self) -> bool {
        self.entry.is_none() && self.files.is_empty()
    }
}

/// Returns whether a user may install plugins, which only the operator may.
///
/// # Errors
/// Returns an error if the database fails.
pub fn may_install(reader: &mut StoreReader<'_>, user: UserId) -> Result<bool, StoreError> {
    let users = reader.users()?;
    Ok(users.iter().any(|other| other.id == user && matches!(other.role.as_str(), "owner" | "admin")))
}

/// Returns a plugin file: from the plugin folder, or for a bundled plugin from the program.
///
/// # Errors
/// Returns an error if the plugin or the file does not exist.
pub async fn read_file(plugins: &InstalledPlugins, name: &str, path: &str) -> Result<Vec<u8>, WorkshopError> {
    let Some(place) = plugins.folder_of(name) else { return bundled_file(plugins, name, path) };
    let file = path.to_owned();
    Ok(spawn_blocking(move || folder::read(&place, &file)).await??)
}

/// Returns a file of a bundled plugin.
fn bundled_file(plugins: &InstalledPlugins, name: &str, path: &str) -> Result<Vec<u8>, WorkshopError> {
    let catalogue = plugins.current();
    let entry = catalogue.entry(name).ok_or(WorkshopError::NotFound)?;
    let file = entry.state.as_ref().ok().and_then(|loaded| loaded.source().files.get(path));
    Ok(file.ok_or(PluginFileError::NotFound)?.to_vec())
}

/// Lists the files of a plugin. For one in the folder, the files on disk, even if they are broken and older code is
/// active.
///
/// # Errors
/// Returns an error if the server is shutting down.
pub async fn list_files(plugins: &InstalledPlugins, entry: &CatalogueEntry) -> Result<Vec<String>, WorkshopError> {
    let names = |source: &PluginSource| source.files.keys().cloned().collect();
    let loaded = entry.state.as_ref().ok().map(|loaded| names(loaded.source()));
    let is_as_it_lies_there = loaded.is_some() && entry.reload_error.is_none();
    let Some(folder) = plugins.folder_of(&entry.name).filter(|_| !is_as_it_lies_there) else {
        return Ok(loaded.unwrap_or_default());
    };
    let read = spawn_blocking(move || PluginSource::read(&folder)).await?;
    // If the folder cannot be read, the list entry of the plugin already has the error.
    Ok(read.as_ref().map(names).unwrap_or_default())
}

/// Returns the folder of a plugin whose files may be changed.
///
/// # Errors
/// Returns an error if the plugin does not exist or is inside the program.
pub fn editable_folder(plugins: &InstalledPlugins, name: &str) -> Result<PathBuf, WorkshopError> {
    plugins.folder_of(name).ok_or_else(|| match plugins.current().entry(name) {
        Some(_) => WorkshopError::Bundled,
        None => WorkshopError::NotFound,
    })
}

/// Returns the entry script, as the active manifest names it.
pub fn entry_file(plugins: &InstalledPlugins, name: &str) -> String {
    let catalogue = plugins.current();
    catalogue.entry(name).map_or(DEFAULT_ENTRY, entry_of).to_owned()
}

fn entry_of(entry: &CatalogueEntry) -> &str {
    entry.state.as_ref().map_or(DEFAULT_ENTRY, |loaded| loaded.manifest().entry.as_str())
}

/// Returns the active plugin, or a separate copy of it with unsaved texts.
///
/// # Errors
/// Returns an error if the plugin does not exist, or its files cannot be read.
pub async fn active_or_edited(
    plugins: &InstalledPlugins,
    name: &str,
    edits: PluginEdits,
) -> Result<LoadResult<Arc<LoadedPlugin>>, WorkshopError> {
    if edits.is_empty() {
        return Ok(plugins.current().entry(name).ok_or(WorkshopError::NotFound)?.state.clone());
    }
    Ok(load_with_edits(plugins, name, edits, ScriptLimits::default()).await?.map(Arc::new))
}

/// Loads a separate copy of the plugin with unsaved texts.
///
/// # Errors
/// Returns an error if the plugin does not exist, or its files cannot be read.
pub async fn load_with_edits(
    plugins: &InstalledPlugins,
    name: &str,
    edits: PluginEdits,
    limits: ScriptLimits,
) -> Result<LoadResult<LoadedPlugin>, WorkshopError> {
    let catalogue = plugins.current();
    let entry = catalogue.entry(name).ok_or(WorkshopError::NotFound)?;
    let mut texts: Vec<(String, String)> = edits.files.into_iter().collect();
    texts.extend(edits.entry.map(|text| (entry_of(entry).to_owned(), text)));
    let bundled = entry.state.as_ref().ok().map(|loaded| loaded.source().clone());
    let folder = plugins.folder_of(name);
    let loading = spawn_blocking(move || {
        let source = match (folder, bundled) {
            (Some(folder), _) => PluginSource::read(&folder)?,
            (None, Some(source)) => source,
            (None, None) => return Err(PluginFileError::NotFound),
        };
        Ok(LoadedPlugin::load(folder::with_texts(&source, texts)?, &limits))
    });
    loading.await?.map_err(|fault| match fault {
        PluginFileError::InvalidPath(_) => WorkshopError::InvalidEditPath(fault),
        other => other.into(),
    })
}

/// Runs the test cases of a plugin. They stop when the caller drops the call.
///
/// # Errors
/// Returns an error if the server is shutting down.
pub async fn run_tests(plugin: Arc<LoadedPlugin>) -> Result<PluginTestReport, WorkshopError> {
    let (waits, begun) = (CancelOnDrop(Arc::new(AtomicBool::new(true))), Instant::now());
    let waiting = Arc::clone(&waits.0);
    let goes_on = move || waiting.load(Ordering::Relaxed) && begun.elapsed() < TEST_TIMEOUT;
    let report = spawn_blocking(move || run_tests_while(&plugin, goes_on)).await?;
    drop(waits);
    Ok(report)
}

/// Clears its flag when the call ends or is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
