//! The command line; `clotho` without a command serves.
//!
//! To add a command: a variant of `CliCommand`, a file with its name, an arm in [`run`]. Commands print results to
//! standard output, and errors with a hint to standard error. Only this module prints, reads the command line or the
//! environment, or sets the exit code.

mod backup;
mod branch_export;
mod common;
mod doctor;
mod foreign_import;
mod log_level;
mod log_rate;
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

/// A self-hosted role-play server whose history is a tree, where every message carries its own state
#[derive(Debug, Parser)]
#[command(name = "clotho", version, arg_required_else_help = false)]
struct CommandLine {
    /// Configuration file [default: $CLOTHO_CONFIG, else config.toml in the working directory, else built-in defaults]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Run the server (the default)
    Serve {
        /// Allow paired devices on the local network: listen on all addresses, or on the given one
        #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
        lan: Option<Option<std::net::IpAddr>>,
    },
    /// Export sessions as files, or one branch in a format of other programs; also while a server runs
    Export(transfer::ExportArgs),
    /// Import a session file, or data of other programs; stop the server first
    Import(transfer::ImportArgs),
    /// Back up the database into one new file; also while a server runs
    Backup {
        /// File to write; must not exist yet
        file: PathBuf,
    },
    /// Replace the database with a backup and keep the old one aside; stop the server first
    Restore {
        /// File that `clotho backup` wrote
        file: PathBuf,
    },
    /// Delete unneeded data: stored responses after a day, unused keyframes and texts, trash after 30 days; stop the
    /// server first
    Gc,
    /// Print sizes by table and by session; also while a server runs
    Stats {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the stored data; --repair needs a stopped server
    Doctor {
        /// Repair derived data
        #[arg(long)]
        repair: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Rebuild the search index; stop the server first. A server rebuilds a missing or outdated index by itself
    Reindex,
    /// Tools for plugin authors: list, check, test, replay, defs, doc, new
    #[command(subcommand)]
    Plugin(plugin::PluginCliCommand),
}

/// The result of a command: its exit code, or an error that becomes exit code 1.
type CliResult = Result<ExitCode, anyhow::Error>;

/// Reads the command line, the configuration and the environment, and runs the command.
pub fn run() -> ExitCode {
    clotho_plugin::heap::return_freed_memory_soon();
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => return usage_error(&error),
    };
    let command = line.command.unwrap_or(CliCommand::Serve { lan: None });
    if !matches!(command, CliCommand::Plugin(_)) {
        make_new_files_private();
    }
    let outcome = match command {
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
        terminal::print_error(&format!("clotho: {error:#}"));
        ExitCode::from(1)
    })
}

/// Lets new files and folders belong to their owner alone: the data of the server, and what is exported of it. Files of
/// the search index are created by its library, which takes no permissions.
fn make_new_files_private() {
    #[cfg(unix)]
    {
        use rustix::fs::Mode;
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
}

/// Prints help or a usage error. Help and version exit with 0, usage errors with 2.
fn usage_error(error: &clap::Error) -> ExitCode {
    // Nothing can be done if even printing fails.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// Loads the settings from the file and the environment. This is the only place that reads the environment.
fn load_config(path: Option<PathBuf>) -> Result<Config, anyhow::Error> {
    Ok(Config::find_and_load(path.as_deref(), std::env::vars_os())?)
}
