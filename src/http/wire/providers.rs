//! Model servers: those of the settings, and those that are connected while the server runs. A key comes in and never goes out.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::deserialize_nullable_option;
use crate::http::error::{ApiError, ApiErrorCode};
use clotho_config::{ProviderConnection, Secret, parse_api_key};
use clotho_engine::turn::connections::{ConnectError, ConnectionChange, ConnectionTestReply, ConnectionTestResult};
use clotho_provider::{ModelInfo, ProviderFailure, ProviderKind};
use clotho_store::ConnectedProvider;

/// A key as it is sent. It shows itself to nobody.
#[derive(Deserialize, ToSchema)]
#[serde(transparent)]
pub struct ApiKeyField(String);

impl fmt::Debug for ApiKeyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// A model server.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderResponse {
    /// How models name it: `id/model`.
    pub id: String,
    /// What it speaks.
    pub kind: String,
    /// Where its API begins.
    pub base_url: String,
    /// Whether a key is kept for it. The key itself is never told.
    pub has_key: bool,
    /// The names of its models; empty = it is asked.
    pub models: Vec<String>,
    /// `config` for one of `config.toml`, which is not changed here; `connected` for others.
    pub origin: &'static str,
    /// Why it cannot be asked; null = it can.
    pub unusable: Option<String>,
}

/// The model servers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvidersResponse {
    /// Those of the settings first, each in the order in which they came.
    pub items: Vec<ProviderResponse>,
    /// Always null: there is one page.
    pub next: Option<String>,
    /// What a server can speak.
    pub kinds: Vec<&'static str>,
    /// The model of sessions that name none.
    pub default_model: String,
    /// Whether it was chosen here, over that of `config.toml`.
    pub is_chosen: bool,
}

/// A model server to be connected.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateProviderRequest {
    /// How models are to name it: lower-case letters, digits, `-` and `_`.
    pub id: String,
    /// What it speaks.
    pub kind: String,
    /// Where its API begins.
    pub base_url: String,
    /// Its key; null = it asks for none.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub key: Option<ApiKeyField>,
    /// The names of its models; empty = ask it.
    #[serde(default)]
    pub models: Vec<String>,
}

/// What changes of one; what is absent stays.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateProviderRequest {
    /// What it speaks.
    pub kind: Option<String>,
    /// Where its API begins. To another host the key must be typed again.
    pub base_url: Option<String>,
    /// Its key: absent = stays, null = is taken away.
    #[serde(default, deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub key: Option<Option<ApiKeyField>>,
    /// The names of its models; empty = ask it.
    pub models: Option<Vec<String>>,
}

/// A model server that is tried before it is kept.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestNewProviderRequest {
    /// The id of the one that is to be changed: where no key is sent, the one that is kept for it is used.
    #[serde(default)]
    pub id: Option<String>,
    /// What it speaks.
    pub kind: String,
    /// Where its API begins.
    pub base_url: String,
    /// Its key: absent = the one that is kept, null = none.
    #[serde(default, deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub key: Option<Option<ApiKeyField>>,
    /// The model that is to say something.
    #[serde(default)]
    pub model: Option<String>,
}

/// Which model of a known one is to say something.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TestProviderRequest {
    /// The model as the provider names it; absent = only the list is asked for.
    pub model: Option<String>,
}

/// What a server that was tried has shown.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestResponse {
    /// Whether all that was asked was answered.
    pub is_ok: bool,
    /// The models that it tells.
    pub models: Vec<ProviderTestModel>,
    /// Why it told none; null = it did.
    pub list_problem: Option<ProviderTestProblem>,
    /// What the model said; null where none was asked or it failed.
    pub reply: Option<ProviderTestReply>,
    /// Why the model said nothing; null = it did, or none was asked.
    pub reply_problem: Option<ProviderTestProblem>,
}

/// A model that a server tells of.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestModel {
    /// As the server names it.
    pub id: String,
    /// Tokens of prompt and reply together, where known.
    pub context_length: Option<u64>,
}

/// What a model said.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestReply {
    /// How it begins; empty where the model only thought.
    pub text: String,
    /// Milliseconds until the first of it.
    pub first_token_ms: u64,
}

/// What went wrong, in the provider's words, and what to do.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProviderTestProblem {
    /// A stable word, as on nodes.
    pub code: &'static str,
    /// The HTTP status that the server answered with, where it did.
    pub status: Option<u16>,
    /// One sentence.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// Which model sessions have that name none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetDefaultModelRequest {
    /// `provider/model`, a name of the settings or `plugin:<id>`; null = as `config.toml` says.
    #[serde(deserialize_with = "deserialize_nullable_model")]
    #[schema(value_type = Option<String>)]
    pub model: Option<String>,
}

/// The model of sessions that name none.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultModelResponse {
    /// Its name.
    pub default_model: String,
    /// Whether it was chosen here, over that of `config.toml`.
    pub is_chosen: bool,
}

/// A field that must be there and may be null.
fn deserialize_nullable_model<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}

impl ProviderResponse {
    /// One that was connected.
    pub fn from_connection(one: ConnectedProvider, unusable: Option<String>) -> Self {
        Self {
            has_key: one.sealed_key.is_some(),
            id: one.id,
            kind: one.kind,
            base_url: one.base_url,
            models: one.models,
            origin: "connected",
            unusable,
        }
    }

    /// One of the settings.
    pub fn from_config(one: &clotho_config::ProviderConfig, unusable: Option<String>) -> Self {
        Self {
            id: one.id.clone(),
            kind: one.kind.clone(),
            base_url: one.base_url.clone(),
            has_key: one.api_key != clotho_config::ApiKey::None,
            models: one.models.clone(),
            origin: "config",
            unusable,
        }
    }

    /// What servers can speak.
    pub fn kinds() -> Vec<&'static str> {
        ProviderKind::all().map(ProviderKind::word).collect()
    }
}

fn parse_key(typed: Option<ApiKeyField>) -> Result<Option<Secret>, ApiError> {
    let key = typed.map(|typed| parse_api_key(&typed.0)).transpose();
    key.map_err(|message| ApiError::invalid("key", message))
}

impl CreateProviderRequest {
    /// What is to be connected, and its key.
    ///
    /// # Errors
    /// The key does not fit.
    pub fn into_connection(self) -> Result<(ProviderConnection, Option<Secret>), ApiError> {
        let Self { id, kind, base_url, models, .. } = self;
        Ok((ProviderConnection { id, kind, base_url, models }, parse_key(self.key)?))
    }
}

impl UpdateProviderRequest {
    /// What changes.
    ///
    /// # Errors
    /// The key does not fit.
    pub fn change(self) -> Result<ConnectionChange, ApiError> {
        let key = self.key.map(parse_key).transpose()?;
        Ok(ConnectionChange { kind: self.kind, base_url: self.base_url, key, models: self.models })
    }
}

/// What is to be tried: the server, its key where one is sent, the model.
pub type ProviderTestParts = (ProviderConnection, Option<Option<Secret>>, Option<String>);

impl TestNewProviderRequest {
    /// What is to be tried.
    ///
    /// # Errors
    /// The key does not fit.
    pub fn into_test_parts(self) -> Result<ProviderTestParts, ApiError> {
        // An id that is not kept is as good as any.
        let id = self.id.unwrap_or_else(|| "new".to_owned());
        let connection = ProviderConnection { id, kind: self.kind, base_url: self.base_url, models: Vec::new() };
        Ok((connection, self.key.map(parse_key).transpose()?, self.model))
    }
}

impl From<ConnectionTestResult> for ProviderTestResponse {
    fn from(seen: ConnectionTestResult) -> Self {
        let (models, list_problem) = match seen.models {
            Some(Ok(models)) => (models.into_iter().map(ProviderTestModel::from).collect(), None),
            Some(Err(failure)) => (Vec::new(), Some(failure.into())),
            None => (Vec::new(), None),
        };
        let (reply, reply_problem): (_, Option<ProviderTestProblem>) = match seen.reply {
            Some(Ok(ConnectionTestReply { text, first_ms })) => {
                (Some(ProviderTestReply { text, first_token_ms: first_ms }), None)
            }
            Some(Err(failure)) => (None, Some(failure.into())),
            None => (None, None),
        };
        // A server that tells no list and yet answers is one that can be played with.
        let is_ok = reply.is_some() || (list_problem.is_none() && reply_problem.is_none());
        Self { is_ok, models, list_problem, reply, reply_problem }
    }
}

impl From<ModelInfo> for ProviderTestModel {
    fn from(info: ModelInfo) -> Self {
        Self { id: info.id, context_length: info.context_length }
    }
}

impl From<ProviderFailure> for ProviderTestProblem {
    fn from(failure: ProviderFailure) -> Self {
        let status = match &failure {
            ProviderFailure::Refused { status, .. } => Some(*status),
            ProviderFailure::Failed { status, .. } => *status,
            _ => None,
        };
        Self { code: failure.code(), status, message: failure.to_string(), hint: failure.hint() }
    }
}

impl From<ConnectError> for ApiError {
    fn from(error: ConnectError) -> Self {
        let message = error.to_string();
        match error {
            ConnectError::Invalid { field, .. } => Self::invalid(field, message),
            ConnectError::Configured(_) => Self::new(ApiErrorCode::Conflict, message)
                .hint("change its block in config.toml, and start the server again"),
            ConnectError::NotFound => Self::not_found("the provider"),
            ConnectError::Keyring(_) => {
                let error = Self::new(ApiErrorCode::Unavailable, "the key cannot be sealed or opened");
                tracing::error!("{message}");
                error.hint("type the key again; the server's log says what is wrong with the file of the sealing key")
            }
            ConnectError::Write(error) => error.into(),
            ConnectError::Stopped => Self::new(ApiErrorCode::Unavailable, message),
        }
    }
}
