//! All plugins that this server knows: those inside the binary and those in its folder. A broken one is listed with its
//! error and never keeps the server from starting. Being listed is not being switched on: a session names what it uses.

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
    /// Its folder's name, which is its id when it is in order.
    pub name: String,
    /// Where it was found.
    pub origin: PluginOrigin,
    /// The plugin, or why it cannot run.
    pub state: Result<Arc<LoadedPlugin>, Box<ScriptError>>,
    /// Why what lies in its folder by now is not in force, while what lay there before still is.
    pub reload_error: Option<Box<ScriptError>>,
}

impl CatalogueEntry {
    /// What was found under a name.
    pub(super) fn new(name: &str, origin: PluginOrigin, state: Result<Arc<LoadedPlugin>, Box<ScriptError>>) -> Self {
        Self { name: name.to_owned(), origin, state, reload_error: None }
    }

    /// Tells the log what in it is probably a mistake. Takes longer than loading: for a thread that nobody waits for.
    pub(super) fn log_warnings(&self) {
        for warning in self.state.iter().flat_map(|loaded| loaded.warnings()) {
            tracing::warn!(plugin = self.name, "plugin: {warning}");
        }
    }

    /// What is wrong with it as it lies there, whether it still runs as it was or not at all.
    pub fn error(&self) -> Option<&ScriptError> {
        self.reload_error.as_deref().or_else(|| self.state.as_ref().err().map(Box::as_ref))
    }
}

/// The plugins by name.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    entries: BTreeMap<String, CatalogueEntry>,
}

impl Catalogue {
    /// Takes in plugins that the program brings ([`LoadedPlugin::load_lazily`]).
    pub fn bundled(sources: impl IntoIterator<Item = PluginSource>, limits: &ScriptLimits) -> Self {
        let mut catalogue = Self::default();
        for source in sources {
            let (name, origin) = (source.name.clone(), source.origin);
            let state = LoadedPlugin::load_lazily(source, limits).map(Arc::new);
            catalogue.insert(CatalogueEntry::new(&name, origin, state));
        }
        catalogue
    }

    /// Adds the plugins of a folder, in the place of those that have the same name; one that cannot run replaces nothing. A folder that
    /// is not there has none.
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

    /// Puts what lies in a plugin's folder into the place of what was there, if it can run; else that goes on, and the error is told.
    pub(super) fn replace(&mut self, name: &str, state: Result<Arc<LoadedPlugin>, Box<ScriptError>>) {
        match (state, self.entries.get_mut(name).filter(|old| old.state.is_ok())) {
            (Err(error), Some(old)) => {
                tracing::warn!(plugin = name, "its files cannot run, what was there goes on: {error}");
                old.reload_error = Some(error);
            }
            (state, _) => self.insert(CatalogueEntry::new(name, PluginOrigin::Folder, state)),
        }
    }

    pub(super) fn insert(&mut self, entry: CatalogueEntry) {
        if let Err(error) = &entry.state {
            tracing::warn!(plugin = entry.name, "plugin cannot run: {error}");
        }
        self.insert_quietly(entry);
    }

    /// Puts an entry of which the log knows already.
    pub(super) fn insert_quietly(&mut self, entry: CatalogueEntry) {
        self.entries.insert(entry.name.clone(), entry);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.entries.remove(name);
    }

    /// What was found under a name.
    pub fn entry(&self, name: &str) -> Option<&CatalogueEntry> {
        self.entries.get(name)
    }

    /// A plugin that can run.
    pub fn get(&self, id: &str) -> Option<&Arc<LoadedPlugin>> {
        self.entries.get(id)?.state.as_ref().ok()
    }

    /// The names under which other code plays here than in `old`, or none where there was some.
    pub fn changed_names(&self, old: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.entries.keys().chain(old.entries.keys()).collect();
        let is_other = |name: &&String| self.get(name).map(Arc::as_ptr) != old.get(name).map(Arc::as_ptr);
        names.into_iter().filter(is_other).cloned().collect()
    }

    /// `is broken: main.rhai:3:1: why`, for a plugin that is there and cannot run.
    pub fn broken(&self, id: &str) -> Option<String> {
        let error = self.entries.get(id)?.state.as_ref().err()?;
        Some(format!("is broken: {}", error.one_line()))
    }

    /// Every plugin by name, the broken ones included.
    pub fn entries(&self) -> impl Iterator<Item = &CatalogueEntry> {
        self.entries.values()
    }
}

/// The plugin that was read from a folder, or why it cannot run.
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

/// The order in which plugins run: each after those that its manifest names in `after` (as far as they are there), else
/// by id. Of a circle the smallest id goes first.
pub fn load_order(plugins: &[Arc<LoadedPlugin>]) -> Vec<Arc<LoadedPlugin>> {
    let mut waiting: BTreeMap<&str, &Arc<LoadedPlugin>> = plugins.iter().map(|plugin| (plugin.id(), plugin)).collect();
    let mut ordered = Vec::new();
    while let Some(first) = waiting.keys().next().copied() {
        let free =
            |plugin: &&Arc<LoadedPlugin>| !plugin.manifest().after.iter().any(|id| waiting.contains_key(id.as_str()));
        let next = waiting.values().copied().find(|plugin| free(plugin)).map_or(first, |plugin| plugin.id());
        if let Some(plugin) = waiting.remove(next) {
            ordered.push(Arc::clone(plugin));
        }
    }
    ordered
}
