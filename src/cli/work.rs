//! What commands share that do long work: the store for themselves alone, and a bar that shows how far they are.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::app;
use crate::config::Config;
use crate::store::{Store, StoreError};

/// Opens the store, which nobody else may use.
pub fn alone(config: &Config, instead: &str) -> Result<Store, anyhow::Error> {
    let (store, _published) = Store::open(&app::store_settings(config)).map_err(|error| match error {
        StoreError::Locked => anyhow::anyhow!("a server uses the data directory: {instead}"),
        other => app::explain(config, &other).into(),
    })?;
    Ok(store)
}

/// A bar on the terminal; nothing where nobody looks.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(length), target).with_style(style)
}
