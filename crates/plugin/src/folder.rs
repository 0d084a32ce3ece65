//! Read and write access to the files of one plugin folder, for its author. It never leaves the folder, follows no
//! links, and stays within the size limits of a plugin.

use std::io;
use std::path::{Path, PathBuf};

use super::limits::ScriptLimits;
use super::source::{PluginSource, check_size, is_relative_path};

/// Why a plugin file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PluginFileError {
    /// The path is not allowed for a file of a plugin.
    #[error(
        "\"{0}\" is not a valid path in a plugin folder: its parts have no dot in front, with \"/\" between, at most \
         200 bytes and 8 parts"
    )]
    InvalidPath(String),
    #[error("the plugin has no such file")]
    NotFound,
    /// The plugin would be too large.
    #[error("{0}")]
    TooLarge(String),
    /// Reading or writing the disk failed.
    #[error("the plugin's folder cannot be used: {0}")]
    Disk(#[from] io::Error),
}

/// The most parts of a file's path.
const MAX_PATH_PARTS: usize = 8;

/// Reads one file.
///
/// # Errors
/// Returns an error if the path is not allowed, the file does not exist, or the disk fails.
pub fn read(folder: &Path, path: &str) -> Result<Vec<u8>, PluginFileError> {
    let file = resolve(folder, path)?;
    match std::fs::symlink_metadata(&file) {
        Ok(about) if about.is_file() => Ok(std::fs::read(file)?),
        Ok(_) => Err(PluginFileError::NotFound),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(PluginFileError::NotFound),
        Err(error) => Err(error.into()),
    }
}

/// Writes one file atomically: first under a name that no plugin reader looks at, then by rename.
///
/// # Errors
/// Returns an error and changes nothing if the path is not allowed, the plugin would be too large, or the disk fails.
pub fn write(folder: &Path, path: &str, text: &str, limits: &ScriptLimits) -> Result<(), PluginFileError> {
    let file = resolve(folder, path)?;
    let is_script = path.ends_with(".rhai");
    if is_script && text.len() > limits.file {
        let message = format!("a script file may have {} KiB", limits.file >> 10);
        return Err(PluginFileError::TooLarge(message));
    }
    with_texts(&PluginSource::read(folder)?, vec![(path.to_owned(), text.to_owned())])?;
    let is_below_a_file = file.ancestors().skip(1).take(MAX_PATH_PARTS).any(Path::is_file);
    if file.is_dir() || is_below_a_file {
        return Err(PluginFileError::InvalidPath(path.to_owned()));
    }
    let parent = file.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent)?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let aside = parent.join(format!(".{name}.new"));
    let written = std::fs::write(&aside, text).and_then(|()| std::fs::rename(&aside, &file));
    if written.is_err() {
        // Remove the temporary file. If that fails too, the first error is still returned.
        let _ = std::fs::remove_file(&aside);
    }
    Ok(written?)
}

/// Deletes one file, and the folders that are empty without it.
///
/// # Errors
/// Returns an error if the path is not allowed, the file does not exist, or the disk fails.
pub fn delete(folder: &Path, path: &str) -> Result<(), PluginFileError> {
    let file = resolve(folder, path)?;
    match std::fs::symlink_metadata(&file) {
        Ok(about) if about.is_file() => std::fs::remove_file(&file)?,
        Ok(_) => return Err(PluginFileError::NotFound),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(PluginFileError::NotFound);
        }
        Err(error) => return Err(error.into()),
    }
    let above = file.ancestors().skip(1).take_while(|above| *above != folder);
    // Removal stops at the first folder that is not empty.
    above.map(std::fs::remove_dir).take_while(Result::is_ok).for_each(drop);
    Ok(())
}

/// Returns a copy of the plugin with some texts added or replaced, if it stays within its limits.
///
/// # Errors
/// Returns an error if a path is not allowed or the plugin would be too large.
pub fn with_texts(source: &PluginSource, texts: Vec<(String, String)>) -> Result<PluginSource, PluginFileError> {
    if let Some((bad, _)) = texts.iter().find(|(path, _)| !is_valid_path(path)) {
        return Err(PluginFileError::InvalidPath(bad.clone()));
    }
    let changed = source.with_texts(texts);
    check_size(&changed).map_err(|error| PluginFileError::TooLarge(error.to_string()))?;
    Ok(changed)
}

/// Returns whether a path may name a file of a plugin.
fn is_valid_path(path: &str) -> bool {
    let is_hidden = |part: &str| part.starts_with('.');
    is_relative_path(path) && !path.split('/').any(is_hidden) && path.split('/').count() <= MAX_PATH_PARTS
}

/// Resolves a path, if it stays inside the folder and no part of it is a symbolic link.
fn resolve(folder: &Path, path: &str) -> Result<PathBuf, PluginFileError> {
    let bad = || PluginFileError::InvalidPath(path.to_owned());
    if !is_valid_path(path) {
        return Err(bad());
    }
    let mut place = folder.to_owned();
    for part in path.split('/') {
        place.push(part);
        if std::fs::symlink_metadata(&place).is_ok_and(|about| about.is_symlink()) {
            return Err(bad());
        }
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_folder_path_outside_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("mine");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(temp.path().join("secret"), "s").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(temp.path(), folder.join("link")).unwrap();
        let limits = ScriptLimits::default();
        let deep = "a/".repeat(8) + "b";
        for bad in
            ["../secret", "/etc/passwd", "link/secret", ".hidden", "lib/.x", "", "a//b", "a\\b", "c:x", "a\0b", &deep]
        {
            assert!(matches!(read(&folder, bad), Err(PluginFileError::InvalidPath(_))), "{bad}");
            assert!(matches!(write(&folder, bad, "x", &limits), Err(PluginFileError::InvalidPath(_))), "{bad}");
        }
        assert_eq!(std::fs::read_to_string(temp.path().join("secret")).unwrap(), "s");
        assert!(matches!(read(&folder, "main.rhai"), Err(PluginFileError::NotFound)));
        write(&folder, "lib/语.rhai", "1", &limits).unwrap();
        assert_eq!(read(&folder, "lib/语.rhai").unwrap(), b"1");
        assert!(matches!(read(&folder, "lib"), Err(PluginFileError::NotFound)));
        assert!(matches!(write(&folder, "lib", "x", &limits), Err(PluginFileError::InvalidPath(_))));
        let large = " ".repeat(limits.file + 1);
        assert!(matches!(write(&folder, "main.rhai", &large, &limits), Err(PluginFileError::TooLarge(_))));
        assert!(matches!(write(&folder, "a.txt", &" ".repeat(9 << 20), &limits), Err(PluginFileError::TooLarge(_))));
        let left: Vec<_> = std::fs::read_dir(folder.join("lib")).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing is left beside it");
        for bad in ["../secret", "link/secret", ".hidden", ""] {
            assert!(matches!(delete(&folder, bad), Err(PluginFileError::InvalidPath(_))), "{bad}");
        }
        for not_there in ["lib", "none", "lib/语.rhai/x"] {
            assert!(matches!(delete(&folder, not_there), Err(PluginFileError::NotFound)), "{not_there}");
        }
        delete(&folder, "lib/语.rhai").unwrap();
        assert!(!folder.join("lib").exists() && folder.exists() && temp.path().join("secret").exists());
    }
}
