//! Tests that drive the real program.

mod plugins;
