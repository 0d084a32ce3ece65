//! Images of other servers.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Whether remote images of a card are loaded.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoteImagesPermission {
    /// `true` or `false`; null = the user has not decided yet.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub allowed: Option<bool>,
}

/// The remote image to fetch.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemoteImageQuery {
    /// Absolute `http` or `https` URL of the image.
    pub url: String,
}
