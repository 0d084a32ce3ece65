//! All plugins that this server knows, bundled or from its plugin folder. A broken plugin is listed with its error and
//! never keeps the server from starting. A listed plugin is not active before a session enables it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::error::{ScriptError, ScriptErrorKind};
use super::limits::ScriptLimits;
use super::loaded::LoadedPlugin;
use super::source::{PluginOrigin, PluginSource};

/// One plugin of the catalogue.
#[derive(Debug, Clone)]
pub struct CatalogueEntry {
    /// Name of the plugin's folder. For a valid plugin it is the id.
    pub name: String,
    pub origin: PluginOrigin,
    /// The plugin, or why it cannot run.
    pub state: Result<Arc<LoadedPlugin>, Box<ScriptError>>,
    /// Why the files now in the folder do not run. The version loaded before stays active.
    pub reload_error: Option<Box<ScriptError>>,
}

impl CatalogueEntry {
    /// Creates the entry of a plugin.
    pub(super) fn new(name: &str, origin: PluginOrigin, state: Result<Arc<LoadedPlugin>, Box<ScriptError>>) -> Self {
        Self { name: name.to_owned(), origin, state, reload_error: None }
    }

    /// Logs likely mistakes of the plugin. Slower than loading, so call it on a background thread.
    pub(super) fn log_warnings(&self) {
        for warning in self.state.iter().flat_map(|loaded| loaded.warnings()) {
            tracing::warn!(plugin = self.name, "plugin: {warning}");
        }
    }

    /// Returns the error of the files as they are now, whether or not an earlier version still runs.
    pub fn error(&self) -> Option<&ScriptError> {
        self.reload_error.as_deref().or_else(|| self.state.as_ref().err().map(Box::as_ref))
    }
}

/// The plugins, by name.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    entries: BTreeMap<String, CatalogueEntry>,
}

impl Catalogue {
    /// Creates a catalogue of the bundled plugins ([`LoadedPlugin::load_lazily`]).
    pub fn bundled(sources: impl IntoIterator<Item = PluginSource>, limits: &ScriptLimits) -> Self {
        let mut catalogue = Self::default();
        for source in sources {
            let (name, origin) = (source.name.clone(), source.origin);
            let state = LoadedPlugin::load_lazily(source, limits).map(Arc::new);
            catalogue.insert(CatalogueEntry::new(&name, origin, state));
        }
        catalogue
    }

    /// Adds the plugins of a folder. They replace those of the same name, unless they cannot run. A missing folder has
    /// no plugins.
    pub fn add_folder(&mut self, folder: &Path, limits: &ScriptLimits) {
        let found = match PluginSource::read_all(folder) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "the plugin folder cannot be read");
                return;
            }
        };
        for (name, source) in found {
            self.replace(&name, load(&name, source, limits));
        }
    }

    /// Replaces a plugin with the files of its folder. If they cannot run, the loaded version stays and keeps the
    /// error.
    pub(super) fn replace(&mut self, name: &str, state: Result<Arc<LoadedPlugin>, Box<ScriptError>>) {
        match (state, self.entries.get_mut(name).filter(|old| old.state.is_ok())) {
            (Err(error), Some(old)) => {
                tracing::warn!(plugin = name, "its files cannot run, so the previous version stays active: {error}");
                old.reload_error = Some(error);
            }
            (state, _) => self.insert(CatalogueEntry::new(name, PluginOrigin::Folder, state)),
        }
    }

    pub(super) fn insert(&mut self, entry: CatalogueEntry) {
        if let Err(error) = &entry.state {
            tracing::warn!(plugin = entry.name, "the plugin cannot run: {error}");
        }
        self.insert_quietly(entry);
    }

    /// Adds an entry whose error is logged already.
    pub(super) fn insert_quietly(&mut self, entry: CatalogueEntry) {
        self.entries.insert(entry.name.clone(), entry);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.entries.remove(name);
    }

    /// Returns the entry of a name.
    pub fn entry(&self, name: &str) -> Option<&CatalogueEntry> {
        self.entries.get(name)
    }

    /// Returns a plugin that can run.
    pub fn get(&self, id: &str) -> Option<&Arc<LoadedPlugin>> {
        self.entries.get(id)?.state.as_ref().ok()
    }

    /// Returns the names whose runnable plugin differs from the one in `old`, including those added or removed.
    pub fn changed_names(&self, old: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.entries.keys().chain(old.entries.keys()).collect();
        let is_other = |name: &&String| self.get(name).map(Arc::as_ptr) != old.get(name).map(Arc::as_ptr);
        names.into_iter().filter(is_other).cloned().collect()
    }

    /// Returns `is broken: main.rhai:3:1: why` for a listed plugin that cannot run.
    pub fn error_summary(&self, id: &str) -> Option<String> {
        self.load_error(id).map(|error| format!("is broken: {error}"))
    }

    /// Returns `main.rhai:3:1: why` for a listed plugin that cannot run.
    pub fn load_error(&self, id: &str) -> Option<String> {
        Some(self.entries.get(id)?.state.as_ref().err()?.one_line())
    }

    /// Iterates over all entries by name, including the broken ones.
    pub fn entries(&self) -> impl Iterator<Item = &CatalogueEntry> {
        self.entries.values()
    }
}

/// Loads the plugin that was read from a folder.
pub(super) fn load(
    name: &str,
    source: io::Result<PluginSource>,
    limits: &ScriptLimits,
) -> Result<Arc<LoadedPlugin>, Box<ScriptError>> {
    match source {
        Ok(source) => LoadedPlugin::load(source, limits).map(Arc::new),
        Err(error) => {
            let message = format!("the plugin's folder cannot be read: {error}");
            Err(Box::new(ScriptError::new(name, "", ScriptErrorKind::Host, message)))
        }
    }
}

/// Returns the order in which plugins run: each after the listed plugins that its manifest names in `after`, otherwise
/// by id. In a cycle the smallest id goes first.
pub fn load_order(plugins: &[Arc<LoadedPlugin>]) -> Vec<Arc<LoadedPlugin>> {
    let mut waiting: BTreeMap<&str, &Arc<LoadedPlugin>> = plugins.iter().map(|plugin| (plugin.id(), plugin)).collect();
    let mut ordered = Vec::new();
    while let Some(first) = waiting.keys().next().copied() {
        let free = |plugin: &&Arc<LoadedPlugin>| {
            !plugin.manifest().load_after.iter().any(|id| waiting.contains_key(id.as_str()))
        };
        let next = waiting.values().copied().find(|plugin| free(plugin)).map_or(first, |plugin| plugin.id());
        if let Some(plugin) = waiting.remove(next) {
            ordered.push(Arc::clone(plugin));
        }
    }
    ordered
}
