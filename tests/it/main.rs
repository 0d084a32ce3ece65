//! Tests that drive the real program.
