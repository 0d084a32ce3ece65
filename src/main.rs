//! The `clotho` program.

fn main() {}
