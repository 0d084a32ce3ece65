//! Where plugins come from: files in memory, from inside the binary or from a folder.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Where a plugin was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Inside the binary.
    Bundled,
    /// In the plugin folder of this server.
    Folder,
}

/// The files of one plugin, by their paths inside its folder (`/` between parts).
#[derive(Debug, Clone)]
pub struct Source {
    /// The folder's name.
    pub name: String,
    /// Where it was found.
    pub origin: Origin,
    /// The files.
    pub files: BTreeMap<String, Arc<[u8]>>,
}

/// All files of one plugin may have so many bytes.
const MAX_BYTES: u64 = 8 << 20;
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 8;

impl Source {
    /// A plugin from files in memory.
    pub fn new<P: Into<String>, B: Into<Arc<[u8]>>>(
        name: impl Into<String>,
        origin: Origin,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes.into())).collect();
        Self { name: name.into(), origin, files }
    }

    /// A file as text; `None` if it is not there or not UTF-8.
    pub fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.files.get(path)?).ok()
    }

    /// The plugin in a folder. Links and hidden files are left alone.
    ///
    /// # Errors
    /// The folder cannot be read, or holds more than a plugin may.
    pub fn read(folder: &Path) -> io::Result<Self> {
        // `.` and `..` have no name of their own.
        let named = match folder.file_name() {
            Some(_) => folder.to_owned(),
            None => folder.canonicalize()?,
        };
        let name = named.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut reader = Reader { files: BTreeMap::new(), bytes: 0 };
        reader.folder(folder, "", MAX_DEPTH)?;
        Ok(Self { name, origin: Origin::Folder, files: reader.files })
    }

    /// Every plugin folder inside `folder`: each with its name, and either its files or why they cannot be read.
    ///
    /// # Errors
    /// The folder itself cannot be read.
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

struct Reader {
    files: BTreeMap<String, Arc<[u8]>>,
    bytes: u64,
}

impl Reader {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| too_much("folders nested too deep"))?;
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type()?;
            if name.starts_with('.') || kind.is_symlink() {
                continue;
            }
            let path = format!("{prefix}{name}");
            if kind.is_dir() {
                self.folder(&entry.path(), &format!("{path}/"), depth)?;
            } else if kind.is_file() {
                self.bytes += entry.metadata()?.len();
                if self.bytes > MAX_BYTES || self.files.len() >= MAX_FILES {
                    return Err(too_much("more than 8 MiB or 500 files"));
                }
                self.files.insert(path, std::fs::read(entry.path())?.into());
            }
        }
        Ok(())
    }
}

fn too_much(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the plugin's folder holds {what}"))
}

/// Whether a path names a file inside a plugin's own folder: no `..`, no absolute path, no drive, no empty part.
pub(super) fn is_inside(path: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.len() <= 200 && path.split('/').all(plain) && !path.contains(['\\', ':', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_without_links_and_hidden_files() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("mine");
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        std::fs::write(folder.join("main.rhai"), "1").unwrap();
        std::fs::write(folder.join("lib/a.rhai"), "2").unwrap();
        std::fs::write(folder.join(".secret"), "3").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", folder.join("passwd")).unwrap();
        let source = Source::read(&folder).unwrap();
        assert_eq!(source.name, "mine");
        assert_eq!(source.files.keys().collect::<Vec<_>>(), ["lib/a.rhai", "main.rhai"]);
        assert_eq!(source.text("lib/a.rhai"), Some("2"));
        assert_eq!(Source::read(&folder.join("lib/..")).unwrap().name, "mine");
        let all = Source::read_all(temp.path()).unwrap();
        assert_eq!(all.len(), 1);
    }

    #[test]
    fn only_paths_inside_are_inside() {
        for good in ["main.rhai", "lib/a.rhai", "语/a.rhai"] {
            assert!(is_inside(good), "{good}");
        }
        for bad in ["", "../a", "a/../b", "/etc/passwd", "a//b", "./a", "C:\\x", "a\\b", "a/"] {
            assert!(!is_inside(bad), "{bad}");
        }
    }
}
