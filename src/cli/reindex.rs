//! `clotho reindex`: rebuilds the search index with a progress bar.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};

use crate::app;
use clotho_config::Config;
use clotho_engine::log_follower::{self, IndexFeeder};
use clotho_search::{self as search, Index};
use clotho_store::doctor::pluralize;

use super::storage::no_database_error;
use super::{CliResult, common, terminal};

/// The template of the progress bar.
const BAR: &str = "{bar:40} {percent:>3} %  {eta} left";

/// Discards the index and feeds a new one from the operation log. A server does the same in the background.
pub fn reindex(config: &Config) -> CliResult {
    if !config.storage.database_path().is_file() {
        return Err(no_database_error(config));
    }
    let instead = "stop it first; a server builds a missing index at its start";
    let store = Arc::new(common::open_exclusive(config, instead)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let hide_tags: Arc<[String]> = Arc::from(config.generation.hide_tags.as_slice());
    let tags = Arc::clone(&hide_tags);
    let upstream = runtime.block_on(store.read(move |reader| log_follower::upstream(reader, &tags)));
    let upstream = upstream.map_err(|error| app::explain_store_error(config, &error))?;
    let upstream = upstream.ok_or_else(|| anyhow!("there are no users yet, so there is nothing to index"))?;
    let folder = config.storage.search_path();
    search::discard(&folder).with_context(|| format!("{} could not be emptied", folder.display()))?;
    let indexing = IndexFeeder { index: Arc::new(Index::open(&folder, upstream, config.search.clone())?), hide_tags };
    let length = |cursor: i64| u64::try_from(cursor).unwrap_or(0);
    let bar = common::progress_bar(length(upstream.newest), BAR);
    let filled =
        runtime.block_on(log_follower::fill_index(&store, &indexing, |cursor| bar.set_position(length(cursor))));
    bar.finish_and_clear();
    filled.map_err(|error| match error {
        log_follower::IndexFillError::Store(error) => app::explain_store_error(config, &error).into(),
        log_follower::IndexFillError::Index(error) => anyhow!(error),
    })?;
    indexing.index.close()?;
    let found = pluralize(i64::try_from(indexing.index.len()).unwrap_or(i64::MAX), "message");
    terminal::print_line(&format!("the search index was rebuilt: {found} can be found"));
    Ok(ExitCode::SUCCESS)
}
