//! `clotho backup` and `clotho restore`: copying the database to one file, and back.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};

use crate::app;
use clotho_config::Config;
use clotho_core::clock::{Clock, SystemClock};
use clotho_search as search;
use clotho_store::StoreError;
use clotho_store::backups::{self, BackupError};

use super::storage::no_database_error;
use super::{CliResult, terminal};

/// Copies the database into a new file; a server may run meanwhile.
pub fn backup(config: &Config, file: &Path) -> CliResult {
    let bytes = backups::create(&config.storage.database_path(), file).map_err(|error| match error {
        BackupError::Exists(_) => anyhow!("{error}: choose another name, because a backup never replaces a file"),
        BackupError::Missing(_) => no_database_error(config),
        other => other.into(),
    })?;
    terminal::print_line(&format!("the backup {} is complete and checked: {bytes} bytes", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// Replaces the database with a backup and discards the search index. No server may run.
pub fn restore(config: &Config, file: &Path) -> CliResult {
    let settings = app::store_settings(config);
    let aside = backups::restore(&settings, file, SystemClock.now()).map_err(|error| match error {
        BackupError::Failed(error @ StoreError::Newer(_)) => anyhow!("{}: {error}: use that version", file.display()),
        BackupError::Failed(error) => app::explain_store_error(config, &error).into(),
        other => other.into(),
    })?;
    search::discard(&config.storage.search_path())
        .context("the search index could not be deleted: delete it yourself")?;
    if let Some(aside) = aside {
        terminal::print_line(&format!("the former database is kept as {}", aside.display()));
    }
    terminal::print_line(&format!("{} was restored; the next start rebuilds the search index", file.display()));
    Ok(ExitCode::SUCCESS)
}
