//! `clotho export` and `clotho import`: whole sessions as files. Exporting only reads, also beside a server that runs;
//! importing needs the data directory for itself. What other programs keep is taken in by `sillytavern.rs`, and what they and people read is
//! written by `lines.rs`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use crate::app;
use crate::archive::Limits;
use crate::clock::{Clock, Ids, SystemClock};
use crate::config::Config;
use crate::ids::SessionId;
use crate::store::Snapshot;
use crate::transfer;

use super::work::{alone, bar, held, into_new};
use super::{Outcome, lines, sillytavern, write};

/// What is exported, and where to.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Export {
    /// In a form that others read.
    #[command(subcommand)]
    other: Option<lines::Into>,
    /// The session, as its address in the browser names it.
    #[arg(required_unless_present = "all")]
    session: Option<SessionId>,
    /// The file to write; it must not be there yet.
    #[arg(required_unless_present = "all")]
    file: Option<PathBuf>,
    /// Every session, each into a file of this folder that is named by its id.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["session", "file"])]
    all: Option<PathBuf>,
}

/// What is imported.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Import {
    /// What is not a file of ours.
    #[command(subcommand)]
    other: Option<Other>,
    /// The file of a session.
    #[arg(required = true)]
    file: Option<PathBuf>,
}

/// What other programs keep.
#[derive(Debug, Subcommand)]
enum Other {
    /// Characters, chats and personas of SillyTavern; what is there already is left alone.
    Sillytavern(sillytavern::From),
}

/// Writes one session, or all.
pub fn export(wanted: &Export, config: &Config) -> Outcome {
    let database = config.storage.database_path();
    let mut snapshot =
        Snapshot::open(&database).with_context(|| format!("the database {} cannot be read", database.display()))?;
    match wanted {
        Export { other: Some(other), .. } => lines::export(&mut snapshot, other, config)?,
        Export { session: Some(session), file: Some(file), .. } => one(&mut snapshot, *session, file)?,
        Export { all: Some(folder), .. } => {
            fs::create_dir_all(folder).with_context(|| format!("the folder {}", folder.display()))?;
            for session in snapshot.sessions()? {
                one(&mut snapshot, session, &folder.join(format!("{session}.clotho")))?;
            }
        }
        // The command line has been read so that one of both is there.
        Export { .. } => bail!("a session and a file, or --all with a folder, are expected"),
    }
    Ok(ExitCode::SUCCESS)
}

fn one(snapshot: &mut Snapshot, session: SessionId, file: &Path) -> Result<(), anyhow::Error> {
    let held = held(snapshot, session)?;
    let bar = bar(u64::try_from(held.counts.nodes).unwrap_or(0), "{msg} {wide_bar} {pos}/{len} messages");
    bar.set_message(held.session.title.clone());
    let now = SystemClock.now();
    let written =
        into_new(file, |out| Ok(transfer::export(snapshot, &held, out, now, |nodes| bar.set_position(nodes))?));
    bar.finish_and_clear();
    written?;
    write::line(&format!("{session}  {}  {}", file.display(), held.session.title));
    Ok(())
}

/// Takes in what is wanted.
pub fn import(wanted: &Import, config: &Config) -> Outcome {
    match wanted {
        Import { other: Some(Other::Sillytavern(from)), .. } => sillytavern::import(from, config),
        Import { file: Some(file), .. } => import_session(file, config),
        // The command line has been read so that one of both is there.
        Import { .. } => bail!("the file of a session is expected"),
    }
}

/// Takes one session in, for the owner of this server.
fn import_session(file: &Path, config: &Config) -> Outcome {
    let mut open = File::open(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let clock = SystemClock;
    let ids = Ids::from_entropy().context("the system has no randomness to give")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let instead = format!(
        "stop it first, or send the file to it with \
         curl --data-binary @FILE -H 'Content-Type: application/zstd' http://{}/api/sessions/import",
        config.server.listen
    );
    let store = alone(config, &instead)?;
    let limits = Limits::of(config.limits.import_bytes);
    let bar = bar(0, "{wide_bar} {bytes}/{total_bytes}");
    let told = |progress: transfer::Progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        true
    };
    let session = runtime.block_on(async {
        let store = std::sync::Arc::new(store);
        let owner = app::settled(&store, &clock, &ids).await?;
        transfer::discard(&store).await?;
        let arrival = transfer::Arrival { owner, job: None };
        let took = transfer::import(&store, &mut open, arrival, &ids, clock.now(), limits, told).await;
        bar.finish_and_clear();
        took.with_context(|| format!("{} did not come in, and nothing of it was kept", file.display()))
    })?;
    write::line(&session.to_string());
    Ok(ExitCode::SUCCESS)
}
