//! Why a provider or one of its models cannot be used. To add a reason, add a variant, and texts for its code in both
//! languages of the page. A test compares them.

use clotho_config::ApiKeyError;
use clotho_core::coded_messages;
use clotho_provider::ProviderKind;

coded_messages! {
    /// Why a provider or one of its models cannot, or may not, be used.
    pub enum ProviderProblemDetail {
        /// Its kind is unknown.
        #[error("expected one of {kinds}, got {kind:?}")]
        UnknownKind { kind: String, kinds: String } = "unknown_kind",
        /// A provider of the settings has the same name.
        #[error("config.toml now has a provider of this name, which is used instead")]
        Replaced {} = "replaced",
        /// The environment variable with its key is missing.
        #[error("the environment variable {variable:?} is missing or has several lines; set it and restart the server")]
        NoKeyVariable { variable: String } = "no_key_variable",
        /// Its stored key cannot be decrypted.
        #[error("{error}")]
        KeyUndecryptable { error: String } = "key_undecryptable",
        /// The file with its key cannot be read.
        #[error("the key file of provider {provider} cannot be read: {error}")]
        KeyFileUnreadable { provider: String, error: String } = "key_file_unreadable",
        /// The file with its key has no key, or more than one line.
        #[error("the key file of provider {provider} must contain one line: the key")]
        KeyFileInvalid { provider: String } = "key_file_invalid",
        /// It does not list a model. The model may be new, so it is used nevertheless.
        #[error("\"{provider}\" does not list a model \"{model}\"")]
        UnlistedModel { provider: String, model: String } = "unlisted_model",
    }
}

impl ProviderProblemDetail {
    /// Returns the problem of a provider of an unknown kind.
    pub fn unknown_kind(kind: &str) -> Self {
        let kinds: Vec<String> = ProviderKind::all().map(|kind| format!("{:?}", kind.name())).collect();
        Self::UnknownKind { kind: kind.to_owned(), kinds: kinds.join(", ") }
    }
}

impl From<ApiKeyError> for ProviderProblemDetail {
    fn from(error: ApiKeyError) -> Self {
        match error {
            ApiKeyError::NoVariable { variable } => Self::NoKeyVariable { variable },
            ApiKeyError::Undecryptable(error) => Self::KeyUndecryptable { error },
            ApiKeyError::Unreadable { provider, cause } => {
                Self::KeyFileUnreadable { provider, error: cause.to_string() }
            }
            ApiKeyError::Malformed { provider } => Self::KeyFileInvalid { provider },
        }
    }
}
