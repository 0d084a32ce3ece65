//! Prompts: recorded requests, built again with the real macros, lore and scripts.

mod golden;
