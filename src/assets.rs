//! The embedded files: the web page (`static/`) and the bundled plugins (`plugins/`).
//!
//! `build.rs` generates the tables. The page is served below [`WebAssets::version`], a hash of all its files, so an
//! upgrade never mixes versions and browsers may cache it forever. For development, [`WebAssets::from_folder`] serves a
//! folder instead. To add a file, put it into the folder; `build.rs` leaves out sources, tests and types.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bytes::Bytes;

/// An embedded file.
#[derive(Debug, Clone, Copy)]
pub struct BundledFile {
    /// The path below its folder, separated by `/`: `built/js/main.js`.
    pub path: &'static str,
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// A file of the page, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAsset {
    pub bytes: Bytes,
    /// The value for `Content-Type`.
    pub mime: Cow<'static, str>,
    /// The value for `ETag`, quotes included.
    pub etag: String,
}

/// The files of the page, embedded or in a folder.
#[derive(Debug, Clone)]
pub struct WebAssets(WebAssetSource);

#[derive(Debug, Clone)]
enum WebAssetSource {
    Bundled,
    /// The canonical path.
    Folder(PathBuf),
}

struct BundledAssets {
    version: String,
    files: HashMap<&'static str, WebAsset>,
}

/// The embedded page, prepared on first use.
static BUNDLED: LazyLock<BundledAssets> = LazyLock::new(|| BundledAssets {
    version: version_hash(STATIC),
    files: STATIC.iter().map(|file| (file.path, make_asset(file.path, Bytes::from_static(file.bytes)))).collect(),
});

impl WebAssets {
    /// Returns the embedded page.
    pub fn bundled() -> Self {
        Self(WebAssetSource::Bundled)
    }

    /// Returns the page in `folder`, which is read again for each request; for development.
    ///
    /// # Errors
    /// Returns an error if the folder does not exist or is no folder.
    pub fn from_folder(folder: &Path) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        if folder.is_dir() {
            Ok(Self(WebAssetSource::Folder(folder)))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Returns the version of the page: 12 hex digits of a hash over names and contents, or `dev` for a folder.
    pub fn version(&self) -> &str {
        match &self.0 {
            WebAssetSource::Bundled => &BUNDLED.version,
            WebAssetSource::Folder(_) => "dev",
        }
    }

    /// Returns whether the files below [`WebAssets::version`] never change, so that browsers may cache them.
    pub fn is_immutable(&self) -> bool {
        matches!(self.0, WebAssetSource::Bundled)
    }

    /// Returns the file at `path`, relative to the folder and separated by `/`. Reads the disk if the page is in a
    /// folder.
    ///
    /// Returns `None` if there is none, if the path is not plain (`..`, absolute, hidden, U+0000), or if a symbolic
    /// link leads out of the folder.
    pub fn get(&self, path: &str) -> Option<WebAsset> {
        match &self.0 {
            WebAssetSource::Bundled => BUNDLED.files.get(path).cloned(),
            WebAssetSource::Folder(folder) => {
                let bytes = std::fs::read(path_inside(folder, path)?).ok()?;
                Some(make_asset(path, bytes.into()))
            }
        }
    }
}

/// Returns the ids of the bundled plugins in order: every folder that has a `plugin.toml`.
pub fn plugin_ids() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().filter_map(|file| file.path.strip_suffix("/plugin.toml")).filter(|id| !id.contains('/'))
}

/// Returns the files of one bundled plugin, with paths relative to the plugin's folder.
pub fn plugin(id: &str) -> impl Iterator<Item = BundledFile> {
    PLUGINS.iter().filter_map(move |file| {
        let path = file.path.strip_prefix(id)?.strip_prefix('/')?;
        Some(BundledFile { path, bytes: file.bytes })
    })
}

/// Returns the canonical path of a file in `folder`, or `None` if it is outside.
fn path_inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\0', '\\', ':']);
    if !path.split('/').all(is_plain) {
        return None;
    }
    let real = folder.join(path).canonicalize().ok()?;
    (real.starts_with(folder) && real.is_file()).then_some(real)
}

fn make_asset(path: &str, bytes: Bytes) -> WebAsset {
    let etag = format!("\"{}\"", short_hash(blake3::hash(&bytes)));
    WebAsset { bytes, mime: mime_type(path), etag }
}

fn mime_type(path: &str) -> Cow<'static, str> {
    let Some(mime) = mime_guess::from_path(path).first_raw() else { return "application/octet-stream".into() };
    let is_text = mime.starts_with("text/") || matches!(mime, "application/json" | "image/svg+xml");
    if is_text { format!("{mime}; charset=utf-8").into() } else { mime.into() }
}

/// Hashes all files. Lengths are hashed before names and contents, so that bytes cannot move from one to the other.
fn version_hash(files: &[BundledFile]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in files.iter().flat_map(|file| [file.path.as_bytes(), file.bytes]) {
        hasher.update(&part.len().to_le_bytes()).update(part);
    }
    short_hash(hasher.finalize())
}

fn short_hash(hash: blake3::Hash) -> String {
    hash.to_hex().chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundled_file(path: &'static str, bytes: &'static [u8]) -> BundledFile {
        BundledFile { path, bytes }
    }

    #[test]
    fn assets_version_changes_with_names_and_contents() {
        let base = version_hash(&[bundled_file("a", b"1"), bundled_file("b", b"2")]);
        assert_eq!(base.len(), 12);
        assert_eq!(base, version_hash(&[bundled_file("a", b"1"), bundled_file("b", b"2")]));
        for other in [
            vec![bundled_file("a", b"1")],
            vec![bundled_file("a", b"1b"), bundled_file("", b"2")],
            vec![bundled_file("a", b"2"), bundled_file("b", b"2")],
        ] {
            assert_ne!(base, version_hash(&other));
        }
    }

    #[test]
    fn assets_mime_type_has_charset_for_text() {
        assert_eq!(mime_type("index.html"), "text/html; charset=utf-8");
        assert_eq!(mime_type("js/main.js"), "text/javascript; charset=utf-8");
        assert_eq!(mime_type("icons.svg"), "image/svg+xml; charset=utf-8");
        assert_eq!(mime_type("a.woff2"), "font/woff2");
        assert_eq!(mime_type("LICENSE"), "application/octet-stream");
    }

    #[test]
    fn assets_bundled_files_match_folders() {
        let assets = WebAssets::bundled();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("static");
        for file in STATIC {
            let asset = assets.get(file.path).unwrap();
            assert_eq!(asset.bytes, std::fs::read(folder.join(file.path)).unwrap());
        }
        for id in plugin_ids() {
            assert!(plugin(id).any(|file| file.path == "plugin.toml" && !file.bytes.is_empty()));
            assert!(plugin(id).all(|file| !file.path.starts_with("tests/")));
        }
        assert_eq!(assets.get("../Cargo.toml"), None);
        assert_eq!(plugin("").count(), 0);
    }

    #[test]
    fn assets_folder_refuses_paths_outside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("static");
        std::fs::create_dir_all(root.join("js")).unwrap();
        std::fs::write(root.join("js/main.js"), "1").unwrap();
        std::fs::write(root.join(".env"), "secret").unwrap();
        std::fs::write(dir.path().join("outside.txt"), "secret").unwrap();
        let assets = WebAssets::from_folder(&root).unwrap();
        let first = assets.get("js/main.js").unwrap();
        assert_eq!((first.bytes.as_ref(), assets.version(), assets.is_immutable()), (&b"1"[..], "dev", false));
        std::fs::write(root.join("js/main.js"), "2").unwrap();
        assert_ne!(assets.get("js/main.js").unwrap().etag, first.etag);

        let absolute = dir.path().join("outside.txt").display().to_string();
        let escapes =
            ["", "/", ".", "..", "js", "js/", "js//main.js", "../outside.txt", "js/../../outside.txt", ".env", "a\0b"];
        for path in escapes.into_iter().chain(["js\\..\\..\\outside.txt", "c:x", absolute.as_str()]) {
            assert_eq!(assets.get(path), None, "{path:?}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(dir.path().join("outside.txt"), root.join("link.txt")).unwrap();
            std::os::unix::fs::symlink(dir.path(), root.join("up")).unwrap();
            assert_eq!(assets.get("link.txt"), None);
            assert_eq!(assets.get("up/outside.txt"), None);
        }
        assert!(WebAssets::from_folder(&root.join("nowhere")).is_err());
        assert!(WebAssets::from_folder(&root.join("js/main.js")).is_err());
    }
}
