//! The command line: bare `clotho` serves. To add a command: a variant of `Command`, a file with its name, an arm in
//! [`run`]. Commands print to standard output what was asked for and to standard error what went wrong, with a hint.
//! Nothing below this floor prints, reads the command line or the environment, or ends the process.

mod backup;
mod branch_export;
mod common;
mod doctor;
mod foreign_import;
mod log_level;
mod plugin;
mod reindex;
mod serve;
mod storage;
mod terminal;
mod transfer;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use clotho_config::Config;

/// A self-hosted role-play server whose history is a tree and whose every message carries the world's state.
#[derive(Debug, Parser)]
#[command(name = "clotho", version, arg_required_else_help = false)]
struct CommandLine {
    /// The configuration file; else CLOTHO_CONFIG, else config.toml in the working directory, else defaults.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Serve (the default).
    Serve {
        /// Let devices of the house in that you pair: listen on all addresses of this machine, or on the one given.
        #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
        lan: Option<Option<std::net::IpAddr>>,
    },
    /// Write a whole session, or all of them, or one line for others to read, as files; also while a server runs.
    Export(transfer::ExportArgs),
    /// Take in the file of a session, or whatever another program keeps, while no server runs.
    Import(transfer::ImportArgs),
    /// Copy everything into one new file, also while a server runs.
    Backup {
        /// The file, which must not be there yet.
        file: PathBuf,
    },
    /// Put a copy in the place of the database; what was there is kept. No server may run.
    Restore {
        /// A file that `clotho backup` made.
        file: PathBuf,
    },
    /// Clear away what may go: old answers, old keyframes, texts that nothing refers to, trash after 30 days.
    Gc,
    /// How much there is, by table and by session; also while a server runs.
    Stats {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Look whether everything is as it must be; without --repair also while a server runs.
    Doctor {
        /// Put right what is derived.
        #[arg(long)]
        repair: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make the search index anew, while no server runs. A server does so by itself where one is missing or of another version.
    Reindex,
    /// What modders need: new, list, check, test, defs, doc.
    #[command(subcommand)]
    Plugin(plugin::PluginCliCommand),
}

/// What a command found or did.
type CliResult = Result<ExitCode, anyhow::Error>;

/// Reads the command line, the configuration and the environment, and runs the command.
pub fn run() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => return usage_error(&error),
    };
    let outcome = match line.command.unwrap_or(CliCommand::Serve { lan: None }) {
        CliCommand::Serve { lan } => load_config(line.config).and_then(|config| serve::serve(config, lan)),
        CliCommand::Export(wanted) => load_config(line.config).and_then(|config| transfer::export(&wanted, &config)),
        CliCommand::Import(wanted) => load_config(line.config).and_then(|config| transfer::import(&wanted, &config)),
        CliCommand::Backup { file } => load_config(line.config).and_then(|config| backup::backup(&config, &file)),
        CliCommand::Restore { file } => load_config(line.config).and_then(|config| backup::restore(&config, &file)),
        CliCommand::Gc => load_config(line.config).and_then(|config| storage::gc(&config)),
        CliCommand::Stats { json } => load_config(line.config).and_then(|config| storage::stats(&config, json)),
        CliCommand::Doctor { repair, json } => {
            load_config(line.config).and_then(|config| doctor::doctor(&config, repair, json))
        }
        CliCommand::Reindex => load_config(line.config).and_then(|config| reindex::reindex(&config)),
        CliCommand::Plugin(command) => load_config(line.config).and_then(|config| plugin::run(command, config)),
    };
    outcome.unwrap_or_else(|error| {
        terminal::error(&format!("clotho: {error:#}"));
        ExitCode::from(1)
    })
}

/// Help and version are no mistake; everything else that the command line does not know is.
fn usage_error(error: &clap::Error) -> ExitCode {
    // Nothing is left to say when even the terminal is gone.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// The settings: the file and the environment, read once, here.
fn load_config(path: Option<PathBuf>) -> Result<Config, anyhow::Error> {
    Ok(Config::find_and_load(path.as_deref(), std::env::vars_os())?)
}
