//! The currently installed plugins. The configured folder is scanned twice a second by the lengths and times of its
//! files. That works on every disk and needs no library. A changed folder that has settled is read, compiled and
//! checked in the background. If it can run, it replaces the plugin; otherwise the old one stays and keeps the error.
//! Holders of a [`Catalogue`] or of one of its plugins keep what they have: nothing changes during a run.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::catalogue::{Catalogue, CatalogueEntry, load};
use super::embedded_plugin;
use super::folder::PluginFileError;
use super::limits::ScriptLimits;
use super::source::{FolderFingerprint, PluginSource};

/// Interval between scans. A change is loaded when two scans see the same, because editors write in several steps.
const SCAN_INTERVAL: Duration = Duration::from_millis(500);

/// The currently installed plugins.
#[derive(Debug)]
pub struct InstalledPlugins {
    current: watch::Sender<Arc<Catalogue>>,
    /// The bundled plugins, restored when a folder that replaced one is removed.
    bundled: Catalogue,
    folder: Option<PathBuf>,
    limits: ScriptLimits,
    folder_states: Mutex<BTreeMap<String, PluginFolderState>>,
}

/// The known states of a plugin's folder; `None` if it did not exist.
#[derive(Debug, Clone, Default)]
struct PluginFolderState {
    /// When it was loaded.
    loaded: Option<FolderFingerprint>,
    /// At the last scan.
    last_scan: Option<FolderFingerprint>,
}

impl InstalledPlugins {
    /// Starts with the bundled plugins and adds those of a folder; they replace bundled plugins of the same name.
    pub fn new(bundled: Catalogue, folder: Option<PathBuf>, limits: ScriptLimits) -> Self {
        let mut catalogue = bundled.clone();
        let mut seen = BTreeMap::new();
        if let Some(folder) = &folder {
            // Take the fingerprints before reading, so that the next scan sees a change in between.
            let marked = fingerprints(folder).unwrap_or_default();
            seen.extend(marked.into_iter().map(|(name, marks)| {
                let marks = Some(marks);
                (name, PluginFolderState { loaded: marks.clone(), last_scan: marks })
            }));
            catalogue.add_folder(folder, &limits);
        }
        Self {
            current: watch::Sender::new(Arc::new(catalogue)),
            bundled,
            folder,
            limits,
            folder_states: Mutex::new(seen),
        }
    }

    /// Returns the current catalogue. It does not change for its holder.
    pub fn current(&self) -> Arc<Catalogue> {
        Arc::clone(&self.current.borrow())
    }

    /// Returns a receiver of the current catalogue and all later ones, for example to refresh derived views.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.current.subscribe()
    }

    /// Returns the folder of a plugin; `None` if it exists only as a bundled one.
    pub fn folder_of(&self, name: &str) -> Option<PathBuf> {
        let is_one = |folder: &PathBuf| !name.is_empty() && !name.starts_with('.') && folder.is_dir();
        let is_plain = !name.contains(['/', '\\', '\0', ':']);
        self.folder.as_ref().filter(|_| is_plain).map(|folder| folder.join(name)).filter(is_one)
    }

    /// Installs a plugin in the configured folder, replaces the one there and loads it at once. Writes to disk.
    ///
    /// # Errors
    /// Returns an error if there is no such folder or it cannot be written. The existing plugin then stays.
    pub fn install(&self, source: &PluginSource) -> Result<(), PluginFileError> {
        let folder = self.folder.as_ref().ok_or(PluginFileError::NotFound)?;
        {
            // Hold the lock, so that no scan sees the folder while it is replaced.
            let _seen = self.folder_states.lock().unwrap_or_else(PoisonError::into_inner);
            embedded_plugin::install(folder, source)?;
        }
        self.reload(&source.name);
        Ok(())
    }

    /// Returns whether there is a folder for installed plugins.
    pub fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Starts background tasks: logs warnings of all plugins, and then scans the folder until these plugins are
    /// dropped.
    pub fn start_watching(self: &Arc<Self>, runtime: &Handle) {
        let catalogue = self.current();
        runtime.spawn_blocking(move || catalogue.entries().for_each(CatalogueEntry::log_warnings));
        if self.folder.is_none() {
            return;
        }
        let installed = Arc::downgrade(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(SCAN_INTERVAL).await;
                let Some(installed) = installed.upgrade() else { return };
                // Reading and compiling block, so each scan runs on a blocking thread, one after the other.
                if tokio::task::spawn_blocking(move || installed.scan()).await.is_err() {
                    tracing::error!("reading the plugin folder failed, and is tried again");
                }
            }
        });
    }

    /// Loads plugins whose folder changed and then stayed the same for one scan. Reads the disk.
    pub fn scan(&self) {
        let Some(folder) = &self.folder else { return };
        let mut seen = self.folder_states.lock().unwrap_or_else(PoisonError::into_inner);
        let mut marked = match fingerprints(folder) {
            Ok(marked) => marked,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            // A disk that is unavailable for a moment must not remove plugins.
            Err(_) => return,
        };
        let names: BTreeSet<String> = seen.keys().chain(marked.keys()).cloned().collect();
        for name in names {
            let marks = marked.remove(&name);
            let one = seen.entry(name.clone()).or_default();
            let (is_taken, is_at_rest) = (one.loaded == marks, one.last_scan == marks);
            one.last_scan.clone_from(&marks);
            if !is_taken && is_at_rest {
                one.loaded.clone_from(&marks);
                self.load_folder(folder, &name, marks.is_some());
            }
        }
        seen.retain(|_, one| one.loaded.is_some() || one.last_scan.is_some());
    }

    /// Loads one plugin at once, for example because it was just written. Reads the disk.
    pub fn reload(&self, name: &str) {
        let Some(folder) = &self.folder else { return };
        let mut seen = self.folder_states.lock().unwrap_or_else(PoisonError::into_inner);
        let own = folder.join(name);
        let marks = own.is_dir().then(|| FolderFingerprint::of_folder(&own));
        self.load_folder(folder, name, marks.is_some());
        seen.insert(name.to_owned(), PluginFolderState { loaded: marks.clone(), last_scan: marks });
    }

    /// Reads a plugin, replaces the old one if the new one can run, and logs the result.
    fn load_folder(&self, folder: &Path, name: &str, is_there: bool) {
        let mut next = (*self.current()).clone();
        if is_there {
            let state = load(name, PluginSource::read(&folder.join(name)), &self.limits);
            if let Ok(loaded) = &state {
                tracing::info!(plugin = name, version = %loaded.manifest().version, "a plugin was loaded");
            }
            next.replace(name, state);
        } else if let Some(bundled) = self.bundled.entry(name) {
            next.insert_quietly(bundled.clone());
            tracing::info!(plugin = name, "the plugin's folder was removed: the bundled plugin is active again");
        } else {
            next.remove(name);
            tracing::info!(plugin = name, "the plugin's folder was removed: the plugin is gone");
        }
        let next = Arc::new(next);
        self.current.send_replace(Arc::clone(&next));
        // The catalogue is published already, so nobody waits for these checks.
        if let Some(entry) = next.entry(name).filter(|entry| entry.reload_error.is_none()) {
            entry.log_warnings();
        }
    }
}

/// Returns the fingerprints of all plugins in a folder.
fn fingerprints(folder: &Path) -> io::Result<BTreeMap<String, FolderFingerprint>> {
    let mut marked = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') {
            marked.insert(name, FolderFingerprint::of_folder(&entry.path()));
        }
    }
    Ok(marked)
}
