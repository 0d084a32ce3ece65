//! Prompts: recorded ones, made again with the real macros, lore and scripts.

mod golden;
