//! `clotho export` and `clotho import`: whole sessions as files.
//!
//! Export only reads, so a server may run meanwhile; import needs exclusive access. `foreign_import.rs` imports data of
//! other programs, `branch_export.rs` writes formats of other programs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use clotho_config::Config;
use clotho_core::clock::{Clock, IdGenerator, SystemClock};
use clotho_core::ids::SessionId;
use clotho_core::printable::Printable;
use clotho_engine::transfer;
use clotho_store::DatabaseSnapshot;
use clotho_store::archive::ArchiveLimits;

use super::common::{load_session, open_exclusive, progress_bar, write_new_file};
use super::foreign_import::ForeignImportArgs;
use super::{CliResult, branch_export, foreign_import, terminal};

/// The session to export, and the target.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct ExportArgs {
    /// Export in a format of other programs
    #[command(subcommand)]
    other: Option<branch_export::BranchExportCommand>,
    /// Session id, as in its address in the browser
    #[arg(required_unless_present = "all")]
    session: Option<SessionId>,
    /// File to write; must not exist yet
    #[arg(required_unless_present = "all")]
    file: Option<PathBuf>,
    /// Export every session into this folder, one file per session named by its id
    #[arg(long, value_name = "DIR", conflicts_with_all = ["session", "file"])]
    all: Option<PathBuf>,
}

/// The text below the help of `clotho import`.
const IMPORT_HELP: &str = "\
The content decides the type of a file:
  a session, as `clotho export` or the page writes it;
  SillyTavern: its data folder or an archive of it, a chat (.jsonl);
  a character card (PNG, JSON, CHARX, also behind a JPEG, BYAF, YAML), also of RisuAI and Agnai, a lorebook, personas;
  chats of ChatGPT (conversations.json or the archive of its export), Open WebUI, LibreChat, RisuAI, Agnai, KoboldAI,
  NovelAI, text-generation-webui, CAI Tools and Chub;
  a folder or an archive of any of these.
Existing items stay unchanged, so you can import the same files again. Only the import of a single session makes a copy
of an existing one.";

/// The file or folder to import.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = IMPORT_HELP)]
pub struct ImportArgs {
    /// Import a folder of a known program
    #[command(subcommand)]
    other: Option<ImportForeignCommand>,
    /// File or folder to import
    #[arg(required = true)]
    path: Option<PathBuf>,
    #[command(flatten)]
    how: ForeignImportArgs,
}

/// The programs with a subcommand of their own.
#[derive(Debug, Subcommand)]
enum ImportForeignCommand {
    /// Import characters, chats and personas of SillyTavern; existing data is left unchanged
    Sillytavern(foreign_import::SillyTavernImportArgs),
}

/// Runs an export command.
pub fn export(wanted: &ExportArgs, config: &Config) -> CliResult {
    let database = config.storage.database_path();
    let mut snapshot = DatabaseSnapshot::open(&database)
        .with_context(|| format!("the database {} cannot be read", database.display()))?;
    match wanted {
        ExportArgs { other: Some(other), .. } => branch_export::export(&mut snapshot, other, config)?,
        ExportArgs { session: Some(session), file: Some(file), .. } => export_session(&mut snapshot, *session, file)?,
        ExportArgs { all: Some(folder), .. } => {
            fs::create_dir_all(folder).with_context(|| format!("the folder {}", folder.display()))?;
            for session in snapshot.sessions()? {
                export_session(&mut snapshot, session, &folder.join(format!("{session}.clotho")))?;
            }
        }
        // clap has checked that one of both is present.
        ExportArgs { .. } => bail!("expected a session and a file, or --all with a folder"),
    }
    Ok(ExitCode::SUCCESS)
}

fn export_session(snapshot: &mut DatabaseSnapshot, session: SessionId, file: &Path) -> Result<(), anyhow::Error> {
    let stored = load_session(snapshot, session)?;
    let bar = progress_bar(u64::try_from(stored.counts.nodes).unwrap_or(0), "{msg} {wide_bar} {pos}/{len} messages");
    bar.set_message(Printable(&stored.session.title).to_string());
    let now = SystemClock.now();
    let written =
        write_new_file(file, |out| Ok(transfer::export(snapshot, &stored, out, now, |nodes| bar.set_position(nodes))?));
    bar.finish_and_clear();
    written?;
    terminal::print_line(&format!("{session}  {}  {}", file.display(), Printable(&stored.session.title)));
    Ok(())
}

/// Runs an import command.
pub fn import(wanted: &ImportArgs, config: &Config) -> CliResult {
    match wanted {
        ImportArgs { other: Some(ImportForeignCommand::Sillytavern(from)), .. } => from.import(config),
        // Opening a pipe would block until something writes to it.
        ImportArgs { path: Some(path), .. } if is_not_session_file(path) => {
            bail!("{} is neither a file nor a folder: it is a pipe, a socket or a device", path.display())
        }
        ImportArgs { path: Some(path), how, .. } if transfer::foreign::is_foreign(path) => {
            foreign_import::import(path, how, config)
        }
        ImportArgs { path: Some(file), how, .. } => import_session(file, how, config),
        // clap has checked that a path is present.
        ImportArgs { .. } => bail!("expected a file or folder"),
    }
}

/// Returns whether a path exists and is neither a file nor a folder.
fn is_not_session_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// Imports one session file.
fn import_session(file: &Path, how: &ForeignImportArgs, config: &Config) -> CliResult {
    if how.dry_run {
        bail!("--dry-run is for files of other programs: a session is imported completely or not at all");
    }
    let mut open = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let clock = SystemClock;
    let ids = IdGenerator::from_entropy().context("the system provides no randomness")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let instead = format!(
        "stop it first, or send it the file with curl --data-binary @FILE -H 'Content-Type: application/zstd' \
         http://{}/api/sessions/import",
        config.server.listen
    );
    let store = open_exclusive(config, &instead)?;
    let limits = ArchiveLimits::for_archive(config.limits.import_bytes);
    let bar = progress_bar(0, "{wide_bar} {bytes}/{total_bytes}");
    let report_progress = |progress: transfer::ImportProgress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        true
    };
    let session = runtime.block_on(async {
        let store = std::sync::Arc::new(store);
        let owner = foreign_import::target_user(&store, how, &clock, &ids).await?;
        transfer::discard(&store).await?;
        let arrival = transfer::SessionImportOptions { owner, job: None, title: None, is_trusted: how.trust };
        let took = transfer::import(&store, &mut open, arrival, &ids, clock.now(), limits, report_progress).await;
        bar.finish_and_clear();
        took.with_context(|| format!("{} was not imported, and nothing of it was kept", file.display()))
    })?;
    terminal::print_line(&session.to_string());
    Ok(ExitCode::SUCCESS)
}
