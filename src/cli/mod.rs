//! The command line: bare `clotho` serves. To add a command: a variant of `Command`, a file with its name, an arm in
//! [`run`]. Commands print to standard output what was asked for and to standard error what went wrong, with a hint.
//! Nothing below this floor prints, reads the command line or the environment, or ends the process.

mod plugin;
mod serve;
mod transfer;
mod write;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::Config;

/// A self-hosted role-play server whose history is a tree and whose every message carries the world's state.
#[derive(Debug, Parser)]
#[command(name = "clotho", version, arg_required_else_help = false)]
struct Line {
    /// The configuration file; else CLOTHO_CONFIG, else config.toml in the working directory, else defaults.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve (the default).
    Serve,
    /// Write a whole session, or all of them, as files; also while a server runs.
    Export(transfer::Export),
    /// Take the file of a session in, while no server runs.
    Import(transfer::Import),
    /// What modders need: list, check, test.
    #[command(subcommand)]
    Plugin(plugin::Command),
}

/// What a command found or did.
type Outcome = Result<ExitCode, anyhow::Error>;

/// Reads the command line, the configuration and the environment, and runs the command.
pub fn run() -> ExitCode {
    let line = match Line::try_parse() {
        Ok(line) => line,
        Err(error) => return wrong_use(&error),
    };
    let outcome = match line.command.unwrap_or(Command::Serve) {
        Command::Serve => config(line.config).and_then(serve::serve),
        Command::Export(wanted) => config(line.config).and_then(|config| transfer::export(&wanted, &config)),
        Command::Import(wanted) => config(line.config).and_then(|config| transfer::import(&wanted, &config)),
        Command::Plugin(command) => config(line.config).and_then(|config| plugin::run(command, &config)),
    };
    outcome.unwrap_or_else(|error| {
        write::error(&format!("clotho: {error:#}"));
        ExitCode::from(1)
    })
}

/// Help and version are no mistake; everything else that the command line does not know is.
fn wrong_use(error: &clap::Error) -> ExitCode {
    // Nothing is left to say when even the terminal is gone.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// The settings: the file and the environment, read once, here.
fn config(path: Option<PathBuf>) -> Result<Config, anyhow::Error> {
    Ok(Config::find_and_load(path.as_deref(), std::env::vars_os())?)
}
