//! The `clotho` program: reads its command line and ends with 0 (done or clean), 1 (found or failed) or 2 (wrong use).

use std::process::ExitCode;

fn main() -> ExitCode {
    clotho::cli::run()
}
