//! Prompts: recorded requests, built again with the real macros, lore and scripts. `golden` calls the parts; `imported`
//! imports the files of the cases and reads the prompts over HTTP.

mod golden;
mod imported;
