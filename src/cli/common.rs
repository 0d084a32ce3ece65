//! Helpers of long-running commands: exclusive access to the store, atomic file creation and a progress bar.

use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal};
use std::path::Path;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::app;
use clotho_config::Config;
use clotho_core::ids::SessionId;
use clotho_store::{DatabaseSnapshot, Store, StoreError, StoredSession};

/// Opens the store for exclusive use. If a server has it open, the error suggests `instead`.
pub fn open_exclusive(config: &Config, instead: &str) -> Result<Store, anyhow::Error> {
    let (store, _published) = Store::open(&app::store_settings(config)).map_err(|error| match error {
        StoreError::Locked => anyhow::anyhow!("a server uses the data directory: {instead}"),
        other => app::explain_store_error(config, &other).into(),
    })?;
    Ok(store)
}

/// Returns a progress bar on standard error; a hidden one if that is no terminal.
pub fn progress_bar(length: u64, template: &str) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(length), target).with_style(style)
}

/// Loads a session of any owner.
pub fn load_session(snapshot: &mut DatabaseSnapshot, session: SessionId) -> Result<StoredSession, anyhow::Error> {
    snapshot.session(None, session)?.with_context(|| format!("there is no session {session}"))
}

/// Writes a new file: under a temporary name first, renamed when complete. Refuses to overwrite.
pub fn write_new_file(
    file: &Path,
    written: impl FnOnce(BufWriter<File>) -> Result<BufWriter<File>, anyhow::Error>,
) -> Result<(), anyhow::Error> {
    if file.exists() {
        bail!("{} already exists: name another file, or move it", file.display());
    }
    let part = file.with_added_extension("part");
    let whole = || -> Result<(), anyhow::Error> {
        let out = written(BufWriter::new(File::create(&part)?))?;
        out.into_inner()?.sync_all()?;
        Ok(fs::rename(&part, file)?)
    }();
    whole.map_err(|error| {
        let _ = fs::remove_file(&part);
        error.context(format!("{} could not be written", file.display()))
    })
}
