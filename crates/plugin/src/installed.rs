//! The plugins as they are now. The folder of the settings, and only that, is looked at twice a second by the lengths and
//! times of its files, which works on every disk and needs no library. What changed and has come to rest is read, compiled
//! and checked aside; if it can run, it takes the place of what was there, else that stays and the error is told. Whoever holds
//! a [`Catalogue`], or a plugin of one, goes on with what he holds: nothing that runs is changed under way.

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

/// How often the folder is looked at. A change is taken in when two looks see the same: editors write in several steps.
const SCAN_INTERVAL: Duration = Duration::from_millis(500);

/// The plugins as they are now.
#[derive(Debug)]
pub struct InstalledPlugins {
    current: watch::Sender<Arc<Catalogue>>,
    /// Those inside the program: what comes back when a folder that stood for one goes.
    bundled: Catalogue,
    folder: Option<PathBuf>,
    limits: ScriptLimits,
    folder_states: Mutex<BTreeMap<String, PluginFolderState>>,
}

/// What is known of a plugin's folder; `None` = it was not there.
#[derive(Debug, Clone, Default)]
struct PluginFolderState {
    /// As it was when it was taken in.
    loaded: Option<FolderFingerprint>,
    /// As it was at the last look.
    last_scan: Option<FolderFingerprint>,
}

impl InstalledPlugins {
    /// The bundled plugins, and in the place of those of the same name, or beside them, those of a folder.
    pub fn new(bundled: Catalogue, folder: Option<PathBuf>, limits: ScriptLimits) -> Self {
        let mut catalogue = bundled.clone();
        let mut seen = BTreeMap::new();
        if let Some(folder) = &folder {
            // Marked before it is read: what changes meanwhile is seen at the next look.
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

    /// The plugins as they are at this moment, and for whoever holds them stay.
    pub fn now(&self) -> Arc<Catalogue> {
        Arc::clone(&self.current.borrow())
    }

    /// The plugins as they are now and whenever that changes, for who shows what they made of something.
    pub fn changes(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.current.subscribe()
    }

    /// The folder of a plugin of the settings' folder; `None` for one that is inside the program only.
    pub fn folder_of(&self, name: &str) -> Option<PathBuf> {
        let is_one = |folder: &PathBuf| !name.is_empty() && !name.starts_with('.') && folder.is_dir();
        let is_plain = !name.contains(['/', '\\', '\0', ':']);
        self.folder.as_ref().filter(|_| is_plain).map(|folder| folder.join(name)).filter(is_one)
    }

    /// Puts a plugin into the folder of the settings, in the place of what lies there, and takes it in at once. Writes the disk.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be written; then what was there goes on.
    pub fn install(&self, source: &PluginSource) -> Result<(), PluginFileError> {
        let folder = self.folder.as_ref().ok_or(PluginFileError::NotFound)?;
        {
            // Nobody looks at the folder while one thing in it takes the place of another.
            let _seen = self.folder_states.lock().unwrap_or_else(PoisonError::into_inner);
            embedded_plugin::install(folder, source)?;
        }
        self.reload(&source.name);
        Ok(())
    }

    /// Whether there is a folder that plugins can be put into.
    pub fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Begins to look through what is there, and then at the folder, as long as somebody has these plugins.
    pub fn begin(self: &Arc<Self>, runtime: &Handle) {
        let catalogue = self.now();
        runtime.spawn_blocking(move || catalogue.entries().for_each(CatalogueEntry::log_warnings));
        if self.folder.is_none() {
            return;
        }
        let installed = Arc::downgrade(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(SCAN_INTERVAL).await;
                let Some(installed) = installed.upgrade() else { return };
                // Reading and compiling block; one look after the other.
                if tokio::task::spawn_blocking(move || installed.scan()).await.is_err() {
                    tracing::error!("looking at the plugin folder failed, it goes on");
                }
            }
        });
    }

    /// Takes in what changed in the folder and has come to rest since the last look. Reads the disk.
    pub fn scan(&self) {
        let Some(folder) = &self.folder else { return };
        let mut seen = self.folder_states.lock().unwrap_or_else(PoisonError::into_inner);
        let mut marked = match fingerprints(folder) {
            Ok(marked) => marked,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            // A disk that is away for a moment takes no plugin with it.
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

    /// Takes one plugin in at once, as it lies in its folder: somebody has just written it. Reads the disk.
    pub fn reload(&self, name: &str) {
        let Some(folder) = &self.folder else { return };
        let mut seen = self.folder_states.lock().unwrap_or_else(PoisonError::into_inner);
        let own = folder.join(name);
        let marks = own.is_dir().then(|| FolderFingerprint::of_folder(&own));
        self.load_folder(folder, name, marks.is_some());
        seen.insert(name.to_owned(), PluginFolderState { loaded: marks.clone(), last_scan: marks });
    }

    /// Reads a plugin and puts it in the place of what was there, if it can run; tells what became of it.
    fn load_folder(&self, folder: &Path, name: &str, is_there: bool) {
        let mut next = (*self.now()).clone();
        if is_there {
            let state = load(name, PluginSource::read(&folder.join(name)), &self.limits);
            if let Ok(loaded) = &state {
                tracing::info!(plugin = name, version = %loaded.manifest().version, "plugin taken in");
            }
            next.replace(name, state);
        } else if let Some(bundled) = self.bundled.entry(name) {
            next.insert_quietly(bundled.clone());
            tracing::info!(plugin = name, "its folder is gone: the one that the program brings is back");
        } else {
            next.remove(name);
            tracing::info!(plugin = name, "its folder is gone, and so is the plugin");
        }
        let next = Arc::new(next);
        self.current.send_replace(Arc::clone(&next));
        // It is in force by now: whoever plays with it does not wait for this.
        if let Some(entry) = next.entry(name).filter(|entry| entry.reload_error.is_none()) {
            entry.log_warnings();
        }
    }
}

/// What lies in a folder of plugins.
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
