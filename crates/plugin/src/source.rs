//! The files of a plugin in memory, read from the binary or from a folder.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;

/// Where a plugin was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginOrigin {
    Bundled,
    /// In this server's plugin folder.
    Folder,
}

/// The files of one plugin, by path inside its folder (`/` between parts).
#[derive(Debug, Clone)]
pub struct PluginSource {
    /// Name of the folder.
    pub name: String,
    pub origin: PluginOrigin,
    pub files: BTreeMap<String, Bytes>,
    /// Paths of symbolic links in the folder; they are not read.
    pub links: Vec<String>,
}

/// The most bytes of all files of one plugin.
const MAX_BYTES: u64 = 8 << 20;
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 8;

impl PluginSource {
    /// Creates a plugin from files in memory.
    pub fn new<P: Into<String>, B: Into<Bytes>>(
        name: impl Into<String>,
        origin: PluginOrigin,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect();
        Self { name: name.into(), origin, files, links: Vec::new() }
    }

    /// Returns a file as text, without a byte order mark; `None` if it is missing or not UTF-8.
    pub fn text(&self, path: &str) -> Option<&str> {
        let text = std::str::from_utf8(self.files.get(path)?).ok()?;
        Some(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// Reads the plugin in a folder. Symbolic links and hidden files are skipped.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read or holds more than a plugin may.
    pub fn read(folder: &Path) -> io::Result<Self> {
        // `.` and `..` have no name of their own.
        let named = match folder.file_name() {
            Some(_) => folder.to_owned(),
            None => folder.canonicalize()?,
        };
        let name = named.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut files = BTreeMap::new();
        let mut walk = PluginFileWalk::default();
        walk.folder(folder, "", MAX_DEPTH, &mut |path, file, _| {
            files.insert(path, std::fs::read(file)?.into());
            Ok(())
        })?;
        walk.links.sort();
        Ok(Self { name, origin: PluginOrigin::Folder, files, links: walk.links })
    }

    /// Returns a copy with some texts added or replaced.
    pub fn with_texts(&self, texts: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut changed = self.clone();
        changed.files.extend(texts.into_iter().map(|(path, text)| (path, text.into_bytes().into())));
        changed
    }

    /// Reads every plugin folder inside `folder`: each with its name and either its files or an error.
    ///
    /// # Errors
    /// Returns an error if `folder` itself cannot be read.
    pub fn read_all(folder: &Path) -> io::Result<Vec<(String, io::Result<Self>)>> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() && !name.starts_with('.') {
                all.push((name, Self::read(&entry.path())));
            }
        }
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(all)
    }
}

/// Detects changes of a plugin's folder without reading its files: the length and modification time of each, or the
/// error of an unreadable folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FolderFingerprint(Result<Vec<(String, u64, Option<SystemTime>)>, String>);

impl FolderFingerprint {
    /// Returns the fingerprint of a plugin's folder.
    pub(super) fn of_folder(folder: &Path) -> Self {
        let mut marks = Vec::new();
        let walked = PluginFileWalk::default().folder(folder, "", MAX_DEPTH, &mut |path, _, about| {
            marks.push((path, about.len(), about.modified().ok()));
            Ok(())
        });
        marks.sort();
        Self(walked.map(|()| marks).map_err(|error| error.to_string()))
    }
}

/// Walks through the files of a plugin, within its limits.
#[derive(Default)]
struct PluginFileWalk {
    files: usize,
    bytes: u64,
    /// Paths of symbolic links.
    links: Vec<String>,
}

/// Called for each file: its path inside the plugin, its path on disk, its metadata.
type FileVisitor<'v> = dyn FnMut(String, &Path, &std::fs::Metadata) -> io::Result<()> + 'v;

impl PluginFileWalk {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize, visit: &mut FileVisitor<'_>) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| too_large_error("folders nested too deep"))?;
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{prefix}{name}");
            if kind.is_symlink() {
                if self.links.len() < MAX_FILES {
                    self.links.push(path);
                }
                continue;
            }
            if kind.is_dir() {
                self.folder(&entry.path(), &format!("{path}/"), depth, visit)?;
            } else if kind.is_file() {
                let about = entry.metadata()?;
                self.bytes += about.len();
                self.files += 1;
                if self.bytes > MAX_BYTES || self.files > MAX_FILES {
                    return Err(too_large_error("more than 8 MiB or 500 files"));
                }
                visit(path, &entry.path(), &about)?;
            }
        }
        Ok(())
    }
}

/// Checks the number and total size of a plugin's files.
pub(super) fn check_size(source: &PluginSource) -> io::Result<()> {
    let bytes: u64 = source.files.values().map(|file| u64::try_from(file.len()).unwrap_or(u64::MAX)).sum();
    let is_too_much = bytes > MAX_BYTES || source.files.len() > MAX_FILES;
    if is_too_much { Err(too_large_error("more than 8 MiB or 500 files")) } else { Ok(()) }
}

fn too_large_error(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the plugin folder has {what}"))
}

/// Returns whether a path names a file inside a plugin's folder: no `..`, no absolute path, no drive, no empty part.
pub(super) fn is_relative_path(path: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.len() <= 200 && path.split('/').all(plain) && !path.contains(['\\', ':', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_source_folder_skips_links_and_hidden_files() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("mine");
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        std::fs::write(folder.join("main.rhai"), "1").unwrap();
        std::fs::write(folder.join("lib/a.rhai"), "2").unwrap();
        std::fs::write(folder.join(".secret"), "3").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", folder.join("passwd")).unwrap();
        let source = PluginSource::read(&folder).unwrap();
        assert_eq!(source.name, "mine");
        assert_eq!(source.files.keys().collect::<Vec<_>>(), ["lib/a.rhai", "main.rhai"]);
        #[cfg(unix)]
        assert_eq!(source.links, ["passwd"]);
        assert_eq!(source.text("lib/a.rhai"), Some("2"));
        std::fs::write(folder.join("main.rhai"), "\u{feff}4").unwrap();
        assert_eq!(PluginSource::read(&folder).unwrap().text("main.rhai"), Some("4"));
        assert_eq!(PluginSource::read(&folder.join("lib/..")).unwrap().name, "mine");
        let all = PluginSource::read_all(temp.path()).unwrap();
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn plugin_source_path_outside_is_refused() {
        for good in ["main.rhai", "lib/a.rhai", "语/a.rhai"] {
            assert!(is_relative_path(good), "{good}");
        }
        for bad in ["", "../a", "a/../b", "/etc/passwd", "a//b", "./a", "C:\\x", "a\\b", "a/"] {
            assert!(!is_relative_path(bad), "{bad}");
        }
    }
}
