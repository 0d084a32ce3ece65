//! To come.
use super::Size;
pub fn figures(_: Size) {}
