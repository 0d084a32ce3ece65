//! `clotho gc` and `clotho stats`: garbage collection and sizes.

use std::process::ExitCode;

use anyhow::anyhow;

use crate::app;
use clotho_config::Config;
use clotho_core::clock::{Clock, SystemClock};
use clotho_core::printable::Printable;
use clotho_store::doctor::pluralize;
use clotho_store::statistics::{DatabaseStatistics, SessionStatistic, collect};
use clotho_store::{Store, StoreError, WriteError};

use super::{CliResult, terminal};

/// Collects garbage. No server may run; a server does this itself once a day.
pub fn gc(config: &Config) -> CliResult {
    let settings = app::store_settings(config);
    if !settings.database_path().is_file() {
        return Err(no_database_error(config));
    }
    let explain = |error: &StoreError| app::explain_store_error(config, error);
    let (store, _published) = Store::open(&settings).map_err(|error| match error {
        StoreError::Locked => {
            anyhow!("a server uses {}: it removes unused data once a day", settings.data_dir.display())
        }
        other => explain(&other).into(),
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let swept = runtime.block_on(store.collect_garbage(SystemClock.now())).map_err(|error| match error {
        WriteError::Failed(error) => explain(&error).into(),
        refused => anyhow!(refused),
    })?;
    store.checkpoint_wal().map_err(|error| explain(&error))?;
    let remains = runtime.block_on(store.read(|reader| reader.pending_erasure())).map_err(|error| explain(&error))?;
    terminal::print_line(&format!("removed: {swept}"));
    if remains.is_some() {
        terminal::print_line(pending_erasure_notice(true));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints sizes; a server may run meanwhile.
pub fn stats(config: &Config, json: bool) -> CliResult {
    let database = config.storage.database_path();
    if !database.is_file() {
        return Err(no_database_error(config));
    }
    let figures = collect(&database).map_err(|error| app::explain_store_error(config, &error))?;
    let text = if json { serde_json::to_string_pretty(&figures)? } else { figures_table(&figures) };
    terminal::print_line(&text);
    Ok(ExitCode::SUCCESS)
}

/// Returns the notice about a pending erasure. Only a server completes one, because only a server writes the index.
pub fn pending_erasure_notice(is_alone: bool) -> &'static str {
    if is_alone {
        "deleted data may still be in files; the next server erases it soon after its start"
    } else {
        "deleted data may still be in files; the running server erases it. After a minute without success, its log \
         and /readyz report it"
    }
}

/// Returns the error for a missing database.
pub fn no_database_error(config: &Config) -> anyhow::Error {
    let database = config.storage.database_path();
    anyhow!("{} does not exist: check storage.data_dir, and whether a server has run there", database.display())
}

fn figures_table(figures: &DatabaseStatistics) -> String {
    let mut lines = vec![format!("{:<28}{:>14}{:>16}", "table", "rows", "bytes")];
    lines.extend(figures.tables.iter().map(|table| format!("{:<28}{:>14}{:>16}", table.name, table.rows, table.bytes)));
    lines.push(format!("{:<28}{:>30}", "the file", figures.file_bytes));
    lines.push(format!(
        "{} sessions, {} more in the trash; {} nodes",
        figures.sessions, figures.trashed_sessions, figures.nodes
    ));
    let marks = figures.tables.iter().find(|table| table.name == "remains").map_or(0, |table| table.rows);
    if marks > 0 {
        lines.push(format!("pending erasures: {}", pluralize(marks, "mark")));
    }
    let most = |what: &str, figure: &Option<SessionStatistic>| {
        figure.as_ref().map(|one| format!("{what}: {} in \"{}\" ({})", one.number, Printable(&one.title), one.id))
    };
    lines.extend(most("the largest number of nodes", &figures.largest_session));
    lines.extend(most("the deepest branch", &figures.deepest_line));
    lines.join("\n")
}
