//! What builds prompts and chooses models.

use std::sync::Arc;

use clotho_config::Config;
use clotho_core::clock::Time;
use clotho_provider::ProviderClient;

use super::lorebook_cache::LorebookCache;
use super::recall::QueryEmbedder;
use crate::turn::models::ModelRegistry;

/// What builds prompts and calls models.
pub(crate) struct PromptServices {
    pub config: Arc<Config>,
    pub models: Arc<ModelRegistry>,
    /// Lorebooks already read.
    pub lorebook_cache: Arc<LorebookCache>,
    pub query_embedder: QueryEmbedder,
}

impl PromptServices {
    /// Refreshes a provider's model list in the background if it is due. Later prompts use the new limits.
    pub fn refresh_if_due(&self, client: &ProviderClient, now: Time) {
        if self.models.needs_refresh(&client.endpoint().id, now) {
            let (models, client) = (Arc::clone(&self.models), client.clone());
            tokio::spawn(async move { models.refresh_models(&client).await });
        }
    }
}
