//! Copies of the whole database: made beside a running server, put back when none runs, one a day by itself.
//!
//! A copy is of one moment, and a file of its own without anything beside it. It grows under another name and gets its own
//! only when it is whole, checked and on disk: what bears the name of a copy is one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::conn;
use crate::error::StoreError;
use crate::{StoreSettings, lock_database, lock_folder, unusable};
use clotho_core::clock::Time;

/// Why there is no copy, or why it was not put back. Nothing that was there before has been touched.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackupError {
    /// A file of that name is there.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// There is no such file.
    #[error("{} is not there", .0.display())]
    Missing(PathBuf),
    /// The file is a database of something else, or none.
    #[error("{} is no copy of a Clotho database: {reason}", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is damaged.
    #[error("{} is damaged: {reason}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What the database says.
        reason: String,
    },
    /// The database or the disk failed.
    #[error(transparent)]
    Failed(#[from] StoreError),
}

/// Copies the database as it is at this moment into a file that is not there yet; answers with its bytes. A server may
/// write meanwhile.
///
/// # Errors
/// A file of that name is there, the database cannot be read, or the disk is full; then nothing is left behind.
pub fn copy(database: &Path, to: &Path) -> Result<u64, BackupError> {
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let part = PartialBackup::next_to(to);
    part.fill(database)?;
    part.publish_new(to)
}

/// A copy in the making. Whatever becomes of it, nothing stays under its own name.
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
        conn::copy_into(&mut conn::open_reader(database)?, &self.0)?;
        check(&self.0)?;
        // The database writes a copy without waiting for the disk.
        Ok(File::open(&self.0).and_then(|file| file.sync_all()).map_err(|error| unusable(&self.0, &error))?)
    }

    fn publish_new(self, to: &Path) -> Result<u64, BackupError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(to.to_owned()),
            _ => unusable(to, &error).into(),
        };
        let bytes = fs::metadata(&self.0).map_err(failed)?.len();
        // Unlike a new name, a second one never takes the place of what came meanwhile. Not every disk has second names.
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

/// Whether a file is a whole database of this program, of this version or an older one.
///
/// # Errors
/// What is wrong with it.
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
        return Err(foreign("its tables are others".to_owned()));
    }
    conn::refuse_newer(&mut conn).map_err(words)?;
    let damaged = |reason: String| BackupError::Damaged { file: file.to_owned(), reason };
    let faults = conn::integrity_errors(&mut conn).map_err(|error| damaged(error.to_string()))?;
    faults.into_iter().next().map_or(Ok(()), |reason| Err(damaged(reason)))
}

/// Puts a copy in the place of the database, which is kept beside it under a name with the time; answers with that name, or
/// none if there was no database. Whoever calls throws the search index away.
///
/// # Errors
/// A server runs, or the copy is damaged, foreign or of a newer version.
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

/// Gives the database and what stands beside it other names. The database keeps its old name too until another file takes
/// it, so that a crash never leaves none.
fn move_aside(database: &Path, now: Time) -> Result<Option<PathBuf>, StoreError> {
    if !database.exists() {
        return Ok(None);
    }
    // What is only in the log goes into the file; where the file is too damaged for that, the log goes along.
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

/// Makes the copy of a day, unless it is there, and removes the oldest ones beyond `most`. A copy that fails removes none.
///
/// # Errors
/// As [`copy`], or the folder cannot be made or read.
pub fn daily_backup(database: &Path, folder: &Path, most: usize, now: Time) -> Result<Option<PathBuf>, BackupError> {
    let day: String = now.to_string().chars().take_while(|c| *c != 'T').collect();
    let to = folder.join(format!("clotho-{day}.db"));
    if most == 0 || to.exists() {
        return Ok(None);
    }
    fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
    copy(database, &to)?;
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

/// Names are on disk when their folder is.
fn sync_folder(file: &Path) -> Result<(), StoreError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| unusable(folder, &error))
}
