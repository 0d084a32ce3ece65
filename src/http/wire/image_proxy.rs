//! Pictures that other servers have.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Whether pictures of other servers are shown for a card.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteImagesPermission {
    /// Null: nobody was asked.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub allowed: Option<bool>,
}

/// Which picture.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemoteImageQuery {
    /// Its whole address, with `http` or `https`.
    pub url: String,
}
