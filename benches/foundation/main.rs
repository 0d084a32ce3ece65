//! Costs of a turn, each figure beside its limit in the same run: `cargo bench --bench foundation [-- NAME…]`.
//!
//! Absolute times say little on a shared machine; the ratios count. Measured code and its limit run in alternating
//! rounds, and the medians are printed. To add a figure, add a file with a function that prints rows, and its name in
//! `FIGURES`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

mod bare;
mod figures;
#[path = "../../tests/it/support/mock_model/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests need more of it")]
mod mock_model;
mod player;
mod session;
#[allow(dead_code, reason = "the other benches need more of it")]
mod table;
mod whole;

const FIGURES: [(&str, fn()); 7] = [
    ("turn", figures::measure_turn_by_size),
    ("writers", figures::measure_writers),
    ("projection", figures::measure_projection),
    ("outline", figures::measure_outline),
    ("world", figures::measure_world),
    ("first-token", whole::measure_first_token),
    ("whole", whole::measure_turns),
];

fn main() {
    // cargo adds its own flags; names are the arguments without a leading dash.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, figure) in FIGURES {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            figure();
        }
    }
}
