//! `clotho import sillytavern`: a whole folder of another program, or one chat of it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;

use crate::app;
use crate::clock::{Clock, Ids, SystemClock};
use crate::config::Config;
use crate::ids::UserId;
use crate::store::Store;
use crate::transfer::Progress;
use crate::transfer::sillytavern::{self, Arrived, Given, Wish, zone_ahead};

use super::work::{alone, bar};
use super::{Outcome, write};

/// What is taken in, and for whom.
#[derive(Debug, Args)]
pub struct From {
    /// The folder that has the folders characters and chats (data/default-user), one above it, or a single chat.
    path: PathBuf,
    /// The user of this server whose it will be; the owner unless named.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Write nothing, and only tell what would come in.
    #[arg(long)]
    dry_run: bool,
    /// How far ahead of UTC the clock was that wrote old dates without a time zone, in hours: 1, -5 or 5.5.
    #[arg(long, value_name = "HOURS", default_value = "0", allow_hyphen_values = true)]
    utc_offset: f64,
    /// The report as JSON.
    #[arg(long)]
    json: bool,
}

/// Takes it in and tells what became of it.
pub fn import(from: &From, config: &Config) -> Outcome {
    let zone = zone_ahead(from.utc_offset).context("--utc-offset: a number of hours between -25 and 25 is expected")?;
    let clock = SystemClock;
    let ids = Ids::from_entropy().context("the system has no randomness to give")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let instead = format!("stop it first, or send the files to it on the page at http://{}", config.server.listen);
    let store = Arc::new(alone(config, &instead)?);
    let bar = bar(0, "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}");
    let told = |progress: Progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        true
    };
    let arrived = runtime.block_on(async {
        let owner = match &from.user {
            Some(name) => named(&store, name).await?,
            None => app::settled(&store, &clock, &ids).await?,
        };
        let wish = Wish { owner, at: clock.now(), zone, is_dry: from.dry_run };
        let took = sillytavern::import(&store, &ids, Given::Path(from.path.clone()), wish, told).await;
        bar.finish_and_clear();
        took.with_context(|| {
            format!("{} did not come in as a whole; the same command goes on from there", from.path.display())
        })
    })?;
    tell(&arrived, from);
    Ok(ExitCode::SUCCESS)
}

async fn named(store: &Store, name: &str) -> Result<UserId, anyhow::Error> {
    let users = store.read(|reader| reader.users()).await?;
    let Some(user) = users.iter().find(|user| user.name == name) else {
        let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
        bail!("nobody here is named \"{name}\"; there are: {}", names.join(", "));
    };
    Ok(user.id)
}

fn tell(arrived: &Arrived, from: &From) {
    if from.json {
        write::line(&serde_json::to_string_pretty(arrived).unwrap_or_default());
        return;
    }
    write::line(arrived.report.to_string().trim_end());
    let totals = arrived.totals;
    let verb = if from.dry_run { "would come in" } else { "came in" };
    write::line(&format!(
        "{verb}: {} characters, {} personas, {} sessions, {} messages; {} chats read, {} of them known already; {} lorebooks, {} presets; {} left out",
        totals.characters,
        totals.personas,
        totals.sessions,
        totals.messages,
        totals.chats,
        totals.unchanged,
        totals.lorebooks,
        totals.presets,
        totals.skipped,
    ));
}
