//! `clotho import` for data of other programs: a folder or archive of one program, or single files of any kind.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use jiff::tz::TimeZone;

use crate::app;
use clotho_config::Config;
use clotho_core::clock::{Clock, IdGenerator, SystemClock};
use clotho_core::ids::UserId;
use clotho_engine::transfer::sillytavern::{self, ForeignImportResult, ImportOptions, ImportSource, zone_ahead};
use clotho_engine::transfer::{ImportError, ImportProgress, REPAIR_LIST_HINT, TitleLanguage, discard, foreign};
use clotho_store::Store;
use clotho_store::archive::ArchiveLimits;

use super::common::{open_exclusive, progress_bar};
use super::{CliResult, terminal};

/// A SillyTavern folder and import options.
#[derive(Debug, Args)]
pub struct SillyTavernImportArgs {
    /// The SillyTavern folder with `characters` and `chats` (data/default-user), a folder above it, or a single chat
    path: PathBuf,
    #[command(flatten)]
    how: ForeignImportArgs,
}

impl SillyTavernImportArgs {
    /// Runs the import.
    pub fn import(&self, config: &Config) -> CliResult {
        run_import(&self.path, &self.how, config, true)
    }
}

/// The options of an import.
#[derive(Debug, Args)]
pub struct ForeignImportArgs {
    /// User who will own the imported data [default: the owner]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Write nothing; only report what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// UTC offset of old dates without a time zone, in hours: 1, -5 or 5.5
    #[arg(long, value_name = "HOURS", default_value = "0", allow_hyphen_values = true, value_parser = parse_utc_offset)]
    utc_offset: TimeZone,
    /// Apply all settings of session files: models, parameters, permissions of plugins and scripts. Also let the regex
    /// scripts of cards and presets run
    #[arg(long)]
    pub trust: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Imports a file or folder of any kind and prints a report.
pub fn import(path: &Path, how: &ForeignImportArgs, config: &Config) -> CliResult {
    run_import(path, how, config, false)
}

fn run_import(path: &Path, how: &ForeignImportArgs, config: &Config, is_root: bool) -> CliResult {
    check_readable(path).with_context(|| format!("{} was not imported at all", path.display()))?;
    let zone = how.utc_offset.clone();
    let clock = SystemClock;
    let ids = IdGenerator::from_entropy().context("the system provides no randomness")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let instead = format!("stop it first, or send it the files on the page at http://{}", config.server.listen);
    let store = Arc::new(open_exclusive(config, &instead)?);
    let bar = progress_bar(0, "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    let report_progress = |progress: ImportProgress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        true
    };
    let arrived = runtime.block_on(async {
        // A half-finished import that a crash left would conflict with the same session.
        discard(&store).await?;
        let owner = target_user(&store, how, &clock, &ids).await?;
        let limits = ArchiveLimits::for_archive(config.limits.import_bytes);
        let language = TitleLanguage::English;
        let (is_dry, is_trusted) = (how.dry_run, how.trust);
        let options = ImportOptions { owner, at: clock.now(), zone, language, is_dry, is_trusted, limits };
        let given = ImportSource::Path(path.to_owned());
        let took = match is_root {
            true => sillytavern::import(&store, &ids, given, options, report_progress).await,
            false => foreign::import(&store, &ids, given, options, report_progress).await,
        };
        bar.finish_and_clear();
        took.map_err(|error| import_error(path, error))
    })?;
    print_report(&arrived, how);
    if arrived.totals.is_empty() {
        let would = if how.dry_run { "would be" } else { "was" };
        bail!("nothing of {} {would} imported: see the report", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn parse_utc_offset(hours: &str) -> Result<TimeZone, &'static str> {
    let zone = hours.parse().ok().and_then(zone_ahead);
    zone.ok_or("expected a number of hours between -25 and 25")
}

/// Checks that the path is readable. If not, a retry hint would be useless.
fn check_readable(path: &Path) -> io::Result<()> {
    let kind = fs::metadata(path)?;
    if kind.is_dir() {
        fs::read_dir(path)?;
    } else if kind.is_file() {
        File::open(path)?;
    }
    Ok(())
}

/// Adds to the error whether running the command again continues the import.
fn import_error(path: &Path, error: ImportError) -> anyhow::Error {
    if matches!(error, ImportError::BadList(_)) {
        return anyhow::anyhow!("{error}; {REPAIR_LIST_HINT}")
            .context(format!("nothing of {} was imported", path.display()));
    }
    if matches!(error, ImportError::TooLarge(_)) {
        let hint = "import the archives one by one, or raise `limits.import_mb`";
        return anyhow::anyhow!("{error}; {hint}").context(format!("{} was not imported completely", path.display()));
    }
    let goes_on = matches!(error, ImportError::Store(_) | ImportError::Read(_) | ImportError::Stopped);
    let said = if goes_on { "completely; the same command continues from there" } else { "at all" };
    anyhow::Error::new(error).context(format!("{} was not imported {said}", path.display()))
}

/// Returns the user who will own the imported data.
pub async fn target_user(
    store: &Arc<Store>,
    how: &ForeignImportArgs,
    clock: &dyn Clock,
    ids: &IdGenerator,
) -> Result<UserId, anyhow::Error> {
    match &how.user {
        Some(name) => find_user(store, name).await,
        None => Ok(app::find_or_create_owner(store, clock, ids).await?),
    }
}

async fn find_user(store: &Store, name: &str) -> Result<UserId, anyhow::Error> {
    let users = store.read(|reader| reader.users()).await?;
    let Some(user) = users.iter().find(|user| user.name == name) else {
        let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
        bail!("there is no user \"{name}\"; the users are {}", names.join(", "));
    };
    Ok(user.id)
}

fn print_report(arrived: &ForeignImportResult, how: &ForeignImportArgs) {
    if how.json {
        terminal::print_line(&serde_json::to_string_pretty(arrived).unwrap_or_default());
        return;
    }
    terminal::print_line(arrived.report.to_string().trim_end());
    let totals = arrived.totals;
    let verb = if how.dry_run { "would be imported" } else { "imported" };
    terminal::print_line(&format!(
        "{verb}: {} characters, {} personas, {} sessions, {} messages; {} chats read, {} of them already known; {} \
         lorebooks, {} presets; {} other items already existed; {} skipped",
        totals.characters,
        totals.personas,
        totals.sessions,
        totals.messages,
        totals.chats,
        totals.unchanged,
        totals.lorebooks,
        totals.presets,
        totals.known,
        totals.skipped,
    ));
}
