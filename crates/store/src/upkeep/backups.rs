//! Backups of the whole database: made while a server runs, restored while none runs, and one made automatically
//! each day.
//!
//! A backup is a consistent snapshot in a single file. It is written under a temporary name and gets its final
//! name only when it is complete, checked and synced. So a file with the name of a backup is always complete.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::conn;
use crate::error::StoreError;
use crate::private_files;
use crate::{StoreSettings, lock_database, lock_folder, unusable};
use clotho_core::clock::Time;

/// The reason why a backup was not made or not restored. No existing file was changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackupError {
    /// A file of that name exists.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// The file does not exist.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// The file is no database of Clotho.
    #[error("{} is not a backup of a Clotho database: {reason}", file.display())]
    Foreign { file: PathBuf, reason: String },
    #[error("{} is damaged: {reason}", file.display())]
    Damaged {
        file: PathBuf,
        /// What SQLite reports.
        reason: String,
    },
    /// The database or the disk failed.
    #[error(transparent)]
    Failed(#[from] StoreError),
}

/// Copies the current state of the database into a new file; returns its size in bytes. A server may write
/// meanwhile.
///
/// # Errors
/// Returns an error, without leaving a file, if the file exists, the database cannot be read, or the disk is
/// full.
pub fn create(database: &Path, to: &Path) -> Result<u64, BackupError> {
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let part = PartialBackup::next_to(to);
    part.fill(database)?;
    part.publish_new(to)
}

/// A backup under its temporary name. The temporary file is removed on drop, whatever happens.
struct PartialBackup(PathBuf);

impl PartialBackup {
    fn next_to(to: &Path) -> Self {
        Self(suffixed(to, &format!(".part-{}", std::process::id())))
    }

    fn fill(&self, database: &Path) -> Result<(), BackupError> {
        if !database.is_file() {
            return Err(BackupError::Missing(database.to_owned()));
        }
        remove(&self.0)?;
        private_files::create_file(&self.0).map_err(|error| unusable(&self.0, &error))?;
        conn::copy_into(&mut conn::open_reader(database)?, &self.0)?;
        check(&self.0)?;
        // SQLite does not sync the copy to disk.
        Ok(File::open(&self.0).and_then(|file| file.sync_all()).map_err(|error| unusable(&self.0, &error))?)
    }

    fn publish_new(self, to: &Path) -> Result<u64, BackupError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(to.to_owned()),
            _ => unusable(to, &error).into(),
        };
        let bytes = fs::metadata(&self.0).map_err(failed)?.len();
        // Unlike a rename, a hard link never replaces a file that appeared meanwhile. Not every file system has
        // hard links.
        match fs::hard_link(&self.0, to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&self.0, to),
            linked => linked,
        }
        .map_err(failed)?;
        sync_folder(to)?;
        Ok(bytes)
    }
}

impl Drop for PartialBackup {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Checks that a file is an intact database of this program, of this version or an older one.
///
/// # Errors
/// Returns an error that says what is wrong with it.
pub fn check(file: &Path) -> Result<(), BackupError> {
    if !file.is_file() {
        return Err(BackupError::Missing(file.to_owned()));
    }
    let foreign = |reason: String| BackupError::Foreign { file: file.to_owned(), reason };
    let words = |error: StoreError| match error {
        StoreError::Newer(_) | StoreError::Full => error.into(),
        other => foreign(other.to_string()),
    };
    let mut conn = conn::open_reader(file).map_err(words)?;
    if !conn::is_clotho_database(&mut conn).map_err(words)? {
        return Err(foreign("its tables differ".to_owned()));
    }
    conn::refuse_newer(&mut conn).map_err(words)?;
    if let Some(object) = conn::foreign_schema_objects(&mut conn).map_err(words)?.first() {
        return Err(foreign(format!("it has the {object}, which this program did not make")));
    }
    let damaged = |reason: String| BackupError::Damaged { file: file.to_owned(), reason };
    let faults = conn::integrity_errors(&mut conn).map_err(|error| damaged(error.to_string()))?;
    faults.into_iter().next().map_or(Ok(()), |reason| Err(damaged(reason)))
}

/// Replaces the database by a backup. The old database is kept under a name with the time, which is returned;
/// `None` if there was none. The caller must delete the search index.
///
/// # Errors
/// Returns an error if a server runs, or if the backup is damaged, foreign or from a newer version.
pub fn restore(settings: &StoreSettings, from: &Path, now: Time) -> Result<Option<PathBuf>, BackupError> {
    check(from)?;
    let database = settings.database_path();
    let _locks = [lock_folder(&settings.data_dir)?, lock_database(&database)?];
    let part = PartialBackup::next_to(&database);
    part.fill(from)?;
    let aside = move_aside(&database, now)?;
    fs::rename(&part.0, &database).map_err(|error| unusable(&database, &error))?;
    sync_folder(&database)?;
    Ok(aside)
}

/// Renames the database and its auxiliary files. The database also keeps its old name until another file
/// replaces it, so that a crash never leaves none.
fn move_aside(database: &Path, now: Time) -> Result<Option<PathBuf>, StoreError> {
    if !database.exists() {
        return Ok(None);
    }
    // Moves the write-ahead log into the file. If the file is too damaged for that, the log is renamed too.
    let _ = conn::checkpoint_wal(database);
    let stamp: String = now.to_string().chars().filter(|c| !matches!(c, '-' | ':')).take_while(|c| *c != '.').collect();
    let stem = database.file_stem().and_then(|stem| stem.to_str()).unwrap_or("clotho");
    let aside = database.with_file_name(format!("{stem}-before-{stamp}Z.db"));
    let failed = |error: io::Error| unusable(&aside, &error);
    if fs::hard_link(database, &aside).is_err() {
        fs::rename(database, &aside).map_err(failed)?;
    }
    match fs::rename(suffixed(database, "-wal"), suffixed(&aside, "-wal")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => remove(&suffixed(database, "-shm"))?,
    }
    Ok(Some(aside))
}

/// Makes the backup of the day if there is none, and removes the oldest ones beyond `most`. If it fails, none is
/// removed.
///
/// # Errors
/// Returns an error as [`create`] does, or if the folder cannot be created or read.
pub fn daily_backup(database: &Path, folder: &Path, most: usize, now: Time) -> Result<Option<PathBuf>, BackupError> {
    let day: String = now.to_string().chars().take_while(|c| *c != 'T').collect();
    let to = folder.join(format!("clotho-{day}.db"));
    if most == 0 || to.exists() {
        return Ok(None);
    }
    private_files::create_folder(folder).map_err(|error| unusable(folder, &error))?;
    create(database, &to)?;
    let mut copies = daily_backups(folder).map_err(|error| unusable(folder, &error))?;
    copies.sort();
    let old = copies.len().saturating_sub(most);
    for oldest in copies.into_iter().take(old).filter(|copy| *copy != to) {
        remove(&oldest)?;
    }
    Ok(Some(to))
}

fn daily_backups(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_copy = |name: &str| {
        let day = name.strip_prefix("clotho-").and_then(|rest| rest.strip_suffix(".db"));
        day.is_some_and(|day| day.len() == 10 && day.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    };
    let paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    Ok(paths.into_iter().filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_copy)).collect())
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable(path, &error)),
        _ => Ok(()),
    }
}

/// Syncs the folder of a file, because its name is on disk only then.
fn sync_folder(file: &Path) -> Result<(), StoreError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| unusable(folder, &error))
}
