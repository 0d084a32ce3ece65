//! The files inside the program: the page (`static/`) and the bundled plugins (`plugins/`).
//!
//! `build.rs` makes the table, so an upgrade never mixes versions: the page is served below [`WebAssets::version`], a hash
//! of all its files, and may be cached for ever. While one works on the page, [`WebAssets::from_folder`] serves a folder
//! instead. To add a file, put it into the folder; what `build.rs` leaves out (tests, types) is not served.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bytes::Bytes;

/// A file inside the program.
#[derive(Debug, Clone, Copy)]
pub struct BundledFile {
    /// Its path below its folder, with `/` between the parts: `js/main.js`.
    pub path: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// A file of the page, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAsset {
    /// The content.
    pub bytes: Bytes,
    /// The value for `ResponseContent-Type`.
    pub mime: Cow<'static, str>,
    /// The value for `ETag`, quotes included.
    pub etag: String,
}

/// The files of the page.
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

static BUNDLED: LazyLock<BundledAssets> = LazyLock::new(|| BundledAssets {
    version: version_hash(STATIC),
    files: STATIC.iter().map(|file| (file.path, make_asset(file.path, Bytes::from_static(file.bytes)))).collect(),
});

impl WebAssets {
    /// The page inside the program.
    pub fn bundled() -> Self {
        Self(WebAssetSource::Bundled)
    }

    /// The page in a folder, read anew at each request; for development.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn from_folder(folder: &Path) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        if folder.is_dir() {
            Ok(Self(WebAssetSource::Folder(folder)))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// Names this state of the page: twelve hexadecimal digits of a hash over names and contents, or `dev` for a folder.
    pub fn version(&self) -> &str {
        match &self.0 {
            WebAssetSource::Bundled => &BUNDLED.version,
            WebAssetSource::Folder(_) => "dev",
        }
    }

    /// Where the scripts and styles of the page lie, below [`WebAssets::version`]: the few files that are built of them, or
    /// they themselves while one works on them.
    pub fn build_path(&self) -> &'static str {
        match &self.0 {
            WebAssetSource::Bundled => "built/",
            WebAssetSource::Folder(_) => "",
        }
    }

    /// Whether a file below [`WebAssets::version`] never changes, so that browsers may keep it.
    pub fn is_immutable(&self) -> bool {
        matches!(self.0, WebAssetSource::Bundled)
    }

    /// The file at `path`, which counts from the folder and has `/` between its parts. `None` if there is none, and for
    /// every path that is not plain (`..`, absolute, hidden, U+0000) or leads out of the folder by a symbolic link.
    /// Reads the disk if the page is in a folder.
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

/// The ids of the bundled plugins, in order: every folder that has a `plugin.toml`.
pub fn plugin_ids() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().filter_map(|file| file.path.strip_suffix("/plugin.toml")).filter(|id| !id.contains('/'))
}

/// The files of one bundled plugin, with paths that count from the plugin's folder.
pub fn plugin(id: &str) -> impl Iterator<Item = BundledFile> {
    PLUGINS.iter().filter_map(move |file| {
        let path = file.path.strip_prefix(id)?.strip_prefix('/')?;
        Some(BundledFile { path, bytes: file.bytes })
    })
}

/// The real path of a file in `folder`.
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

/// Lengths go into the hash before names and contents, so that a byte cannot wander from one to the other unseen.
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

    fn file(path: &'static str, bytes: &'static [u8]) -> BundledFile {
        BundledFile { path, bytes }
    }

    #[test]
    fn assets_version_changes_with_names_and_contents() {
        let base = version_hash(&[file("a", b"1"), file("b", b"2")]);
        assert_eq!(base.len(), 12);
        assert_eq!(base, version_hash(&[file("a", b"1"), file("b", b"2")]));
        for other in
            [vec![file("a", b"1")], vec![file("a", b"1b"), file("", b"2")], vec![file("a", b"2"), file("b", b"2")]]
        {
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
