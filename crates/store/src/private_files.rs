//! Stories are private: other people of a machine can read neither the data folder nor the database and its copies.
//!
//! New folders and files belong to their owner alone. If everybody has access to one that exists, that is a default of
//! the system, and all but the owner lose it. If only a group has access, somebody gave it, and it stays. Systems without
//! such permissions are left alone.

use std::fs;
use std::io;
use std::path::Path;

/// Creates a folder if it does not exist.
///
/// # Errors
/// Returns an error if the folder cannot be created.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    exclude_others(folder);
    Ok(())
}

/// Creates an empty file if it does not exist.
///
/// # Errors
/// Returns an error if the file cannot be created.
pub fn create_file(file: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?;
    exclude_others(file);
    Ok(())
}

/// Does the same for a folder with its files, if it exists.
pub fn exclude_others_from(folder: &Path) {
    exclude_others(folder);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            exclude_others(&entry.path());
        }
    }
}

/// Takes access from everybody but the owner, unless only a group has it. Somebody else's file keeps its permissions.
#[cfg(unix)]
fn exclude_others(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;

    let Ok(found) = fs::metadata(path) else { return };
    let mode = found.permissions().mode();
    if mode & 0o007 != 0 {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode & !0o077));
    }
}

#[cfg(not(unix))]
fn exclude_others(_: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn private_files_new_and_old_exclude_others() {
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let (inner, file) = (folder.path().join("a/b"), folder.path().join("a/b/stories.db"));
        create_folder(&inner).unwrap();
        create_file(&file).unwrap();
        assert_eq!((mode(&inner), mode(&file)), (0o700, 0o600));
        // What an older version created, and what an administrator gave to a group.
        for (old, expected) in [(0o644, 0o600), (0o666, 0o600), (0o600, 0o600), (0o640, 0o640)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(old)).unwrap();
            create_file(&file).unwrap();
            assert_eq!(mode(&file), expected, "{old:o}");
        }
        for (old, expected) in [(0o755, 0o700), (0o777, 0o700), (0o750, 0o750)] {
            fs::set_permissions(&inner, fs::Permissions::from_mode(old)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            exclude_others_from(&inner);
            assert_eq!((mode(&inner), mode(&file)), (expected, 0o600), "{old:o}");
        }
        fs::write(&file, "kept").unwrap();
        create_file(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    }
}
