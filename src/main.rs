//! The `clotho` program. Exit codes: 0 success, 1 findings or failure, 2 wrong usage.

use std::process::ExitCode;

fn main() -> ExitCode {
    clotho::cli::run()
}
