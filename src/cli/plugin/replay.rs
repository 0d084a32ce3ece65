//! `clotho plugin replay`: runs a plugin's rules again over an existing branch and shows the differences.
//!
//! It locks the data directory meanwhile. While a server runs, the plugin workshop of the page does the same.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;

use crate::app::App;
use clotho_config::Config;
use clotho_core::clock::{IdGenerator, SystemClock};
use clotho_core::ids::{NodeId, SessionId};
use clotho_core::world::StateOperation;
use clotho_engine::turn::{ReplayOutcome, ReplaySpec, ReplayStep};
use clotho_plugin::LoadedPlugin;

use crate::cli::{CliResult, terminal};

/// The plugin and the branch to replay.
#[derive(Debug, Args)]
pub struct PluginReplayArgs {
    /// Plugin id, or path of its folder
    pub plugin: String,
    /// Session id, as in its address in the browser
    #[arg(long)]
    session: SessionId,
    /// Last message of the branch [default: the current message of the session]
    #[arg(long, value_name = "MESSAGE")]
    leaf: Option<NodeId>,
    /// First message of the replay [default: as early as possible]
    #[arg(long, value_name = "MESSAGE")]
    from: Option<NodeId>,
    /// Apply the new results to the messages; this can be undone in the session
    #[arg(long)]
    accept: bool,
}

/// Replays a branch and prints the differences. Exit code 1 means that a rule failed.
pub fn replay(wanted: &PluginReplayArgs, plugin: Arc<LoadedPlugin>, config: Config) -> CliResult {
    let ids = Arc::new(IdGenerator::from_entropy().context("the system provides no randomness")?);
    let app = App::build(config, Arc::new(SystemClock), ids)?;
    let outcome = actix_web::rt::System::new().block_on(run(&app, wanted, plugin));
    app.close();
    let ReplayOutcome { rows, is_active: plays, .. } = outcome.map_err(explain_error)?;
    if !plays {
        bail!("the plugin \"{}\" is not active in this session: turn it on there first", wanted.plugin);
    }
    rows.iter().filter(|row| is_different(row)).for_each(print_row);
    let (differ, failed) =
        (rows.iter().filter(|row| is_different(row)).count(), rows.iter().any(|row| row.error.is_some()));
    let accepted = match wanted.accept {
        true if differ == 0 => "; there is nothing to accept",
        true => "; the session uses the new values now, undo takes this back",
        false => "",
    };
    terminal::print_line(&format!("{} messages, {differ} differ{accepted}", rows.len()));
    Ok(ExitCode::from(u8::from(failed)))
}

async fn run(app: &App, wanted: &PluginReplayArgs, plugin: Arc<LoadedPlugin>) -> Result<ReplayOutcome, anyhow::Error> {
    let session = wanted.session;
    let stored = app.store.read(move |reader| reader.any_session(session)).await?;
    let owner = stored.with_context(|| format!("there is no session {session}"))?.session.owner;
    let asked = ReplaySpec { plugin, session, leaf: wanted.leaf, from: wanted.from };
    if !wanted.accept {
        return Ok(app.turns.rules.replay(owner, asked).await?);
    }
    let installed = app.catalogue.current();
    let hash = installed.get(asked.plugin.id()).map(|known| known.code_hash().to_owned());
    if hash.as_deref() != Some(asked.plugin.code_hash()) {
        bail!("only an installed plugin can be accepted: put the folder into [plugins] dir first");
    }
    // Whoever accepts here has stopped the server and names no earlier replay.
    Ok(app.turns.rules.accept(owner, asked, None).await?.0)
}

/// Renames the field `fromNodeId` of the HTTP interface to the option `--from` in an error.
fn explain_error(error: anyhow::Error) -> anyhow::Error {
    let said = format!("{error:#}");
    if said.contains("fromNodeId") { anyhow::anyhow!(said.replace("fromNodeId", "--from")) } else { error }
}

fn is_different(row: &ReplayStep) -> bool {
    row.old != row.new || row.error.is_some() || !row.world.is_empty()
}

/// Prints one message: operations that no longer happen, new operations, and the resulting changes of the state.
fn print_row(row: &ReplayStep) {
    terminal::print_line(&format!("{} {}", row.node, row.hook.name()));
    let told = |sign: char, operation: &StateOperation| {
        let Value::Object(map) = operation.to_json() else { return };
        let word =
            |key: &str| map.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let parts = ["op", "path", "value", "why"].into_iter().filter_map(word).filter(|part| !part.is_empty());
        terminal::print_line(&format!("  {sign} {}", parts.collect::<Vec<_>>().join(" ")));
    };
    row.old.iter().filter(|operation| !row.new.contains(operation)).for_each(|operation| told('-', operation));
    row.new.iter().filter(|operation| !row.old.contains(operation)).for_each(|operation| told('+', operation));
    let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
    for change in &row.world {
        terminal::print_line(&format!("    {} {} -> {}", change.path, value(&change.before), value(&change.after)));
    }
    if let Some(error) = &row.error {
        terminal::print_error(&format!("  ! {error}"));
    }
}
