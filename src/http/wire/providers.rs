//! Providers: model servers from the configuration, and those added at run time. API keys are write-only.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::deserialize_nullable_option;
use super::records::CodedMessageSchema;
use super::string_enums::ProviderOriginEnum;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::json_schema::JsonMap;
use clotho_config::{ProviderConnection, Secret, parse_api_key};
use clotho_core::coded_message::{MessageArgs, RenderedMessage};
use clotho_engine::turn::ProviderProblemDetail;
use clotho_engine::turn::connections::{ConnectError, ConnectionChange, ConnectionTestReply, ConnectionTestResult};
use clotho_provider::{MODEL_SERVICES, ModelInfo, ModelService, ProviderFailure, ProviderKind};
use clotho_store::ConnectedProvider;

/// A submitted API key. `Debug` does not show it.
#[derive(Deserialize, ToSchema)]
#[serde(transparent)]
pub struct ApiKeyField(String);

impl fmt::Debug for ApiKeyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// A provider.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderResponse {
    /// Id of the provider, the prefix of its models: `id/model`.
    pub id: String,
    /// API kind, one of `kinds`.
    pub kind: String,
    /// Base URL of the API.
    pub base_url: String,
    /// Whether a key is stored. The key itself is never returned.
    pub has_key: bool,
    /// Configured model names; empty = the server is asked for its list.
    pub models: Vec<String>,
    /// Configured context length of its models in tokens; null = the server is asked.
    #[schema(required)]
    pub context_tokens: Option<u32>,
    /// `config` if defined in `config.toml` and read-only here; otherwise `connected`.
    #[schema(value_type = ProviderOriginEnum)]
    pub origin: &'static str,
    /// Why the provider cannot be used; null if it can.
    #[schema(required)]
    pub unusable: Option<String>,
    /// The same as `unusable`: a code with arguments, and the sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = CodedMessageSchema)]
    pub failure: Option<RenderedMessage>,
}

/// All providers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvidersResponse {
    /// Providers of the configuration first; each group in the order of definition.
    pub items: Vec<ProviderResponse>,
    /// Always null; the list has one page.
    #[schema(required)]
    pub next: Option<String>,
    /// Supported API kinds.
    pub kinds: Vec<&'static str>,
    /// Known services and programs to connect.
    pub services: Vec<ModelServiceResponse>,
    /// Model of sessions without a model of their own.
    pub default_model: String,
    /// Whether the default model was set here and overrides `config.toml`.
    pub is_chosen: bool,
}

/// A known service or program that serves models.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelServiceResponse {
    /// Id of the service, suggested as the id of its provider.
    pub id: &'static str,
    /// Its name; empty = any server of this kind.
    pub name: &'static str,
    /// API kind, one of `kinds`.
    pub kind: &'static str,
    /// Base URL of its API; empty = it differs for each user.
    pub base_url: &'static str,
    /// Page where a key is made; null if there is none.
    #[schema(required)]
    pub key_url: Option<&'static str>,
    /// Whether it needs a key.
    pub needs_key: bool,
}

impl From<ModelService> for ModelServiceResponse {
    fn from(service: ModelService) -> Self {
        let ModelService { id, name, kind, base_url, key_url, needs_key } = service;
        Self { id, name, kind, base_url, key_url, needs_key }
    }
}

/// A provider to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateProviderRequest {
    /// Id: lower-case letters, digits, `-` and `_`.
    pub id: String,
    /// API kind.
    pub kind: String,
    /// Base URL of the API.
    pub base_url: String,
    /// API key; null = none needed.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub key: Option<ApiKeyField>,
    /// Model names; empty = ask the server for its list.
    #[serde(default)]
    pub models: Vec<String>,
    /// Context length of its models in tokens; null = the server is asked.
    #[serde(default)]
    pub context_tokens: Option<u32>,
}

/// Changes to a provider; absent fields stay.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateProviderRequest {
    /// API kind.
    pub kind: Option<String>,
    /// Base URL of the API. A change of the host requires the key again.
    pub base_url: Option<String>,
    /// API key: absent = unchanged, null = removed.
    #[serde(default, deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub key: Option<Option<ApiKeyField>>,
    /// Model names; empty = ask the server for its list.
    pub models: Option<Vec<String>>,
    /// Context length of its models in tokens: absent = unchanged, null = the server is asked.
    #[serde(default, deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<u32>)]
    pub context_tokens: Option<Option<u32>>,
}

/// A provider to test before it is added.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestNewProviderRequest {
    /// Id of an existing provider that is being changed; its stored key is used if `key` is absent.
    #[serde(default)]
    pub id: Option<String>,
    /// API kind.
    pub kind: String,
    /// Base URL of the API.
    pub base_url: String,
    /// API key: absent = the stored one, null = none.
    #[serde(default, deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub key: Option<Option<ApiKeyField>>,
    /// Model for a test reply; absent = only the model list is requested.
    #[serde(default)]
    pub model: Option<String>,
}

/// A test of an existing provider.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TestProviderRequest {
    /// Model name without the provider prefix; absent = only the model list is requested.
    pub model: Option<String>,
}

/// The result of testing a provider.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestResponse {
    /// Whether the test passed: a reply came, or the list came and no reply failed.
    pub is_ok: bool,
    /// Models that the server lists.
    pub models: Vec<ProviderTestModel>,
    /// Why the model list failed; null if it did not.
    #[schema(required)]
    pub list_problem: Option<ProviderTestProblem>,
    /// The test reply; null if none was requested or it failed.
    #[schema(required)]
    pub reply: Option<ProviderTestReply>,
    /// Why the test reply failed; null otherwise.
    #[schema(required)]
    pub reply_problem: Option<ProviderTestProblem>,
}

/// A model that a server lists.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestModel {
    /// Model name without the provider prefix.
    pub id: String,
    /// Context size in tokens, prompt and reply together; null if unknown.
    #[schema(required)]
    pub context_length: Option<u64>,
}

/// A test reply of a model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTestReply {
    /// Start of the reply; empty if the model only sent reasoning.
    pub text: String,
    /// Time to the first token, in milliseconds.
    pub first_token_ms: u64,
}

/// What went wrong, in the provider's words, and what to do.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProviderTestProblem {
    /// Stable error code, as on nodes.
    pub code: &'static str,
    /// HTTP status of the provider's answer; null without an answer.
    #[schema(required)]
    pub status: Option<u16>,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap)]
    pub args: MessageArgs,
    /// The error in one sentence.
    pub message: String,
    /// What the user can do about it.
    pub hint: &'static str,
}

/// The default model to set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetDefaultModelRequest {
    /// `provider/model`, an alias of the configuration or `plugin:<id>`; null = the value in `config.toml`.
    #[serde(deserialize_with = "deserialize_nullable_model")]
    #[schema(value_type = Option<String>)]
    pub model: Option<String>,
}

/// The default model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultModelResponse {
    /// Model of sessions without a model of their own.
    pub default_model: String,
    /// Whether the default model was set here and overrides `config.toml`.
    pub is_chosen: bool,
}

/// Deserializes a field that is required and may be null.
fn deserialize_nullable_model<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}

impl ProviderResponse {
    /// Describes a provider added at run time.
    pub fn from_connection(one: ConnectedProvider, problem: Option<ProviderProblemDetail>) -> Self {
        Self {
            has_key: one.sealed_key.is_some(),
            id: one.id,
            kind: one.kind,
            base_url: one.base_url,
            models: one.models,
            context_tokens: one.context_tokens,
            origin: "connected",
            unusable: problem.as_ref().map(ToString::to_string),
            failure: problem.as_ref().map(RenderedMessage::new),
        }
    }

    /// Describes a provider of the configuration.
    pub fn from_config(one: &clotho_config::ProviderConfig, problem: Option<ProviderProblemDetail>) -> Self {
        Self {
            id: one.id.clone(),
            kind: one.kind.clone(),
            base_url: one.base_url.clone(),
            has_key: one.api_key != clotho_config::ApiKey::None,
            models: one.models.clone(),
            context_tokens: Some(one.context_tokens).filter(|tokens| *tokens > 0),
            origin: "config",
            unusable: problem.as_ref().map(ToString::to_string),
            failure: problem.as_ref().map(RenderedMessage::new),
        }
    }

    /// Returns the supported API kinds.
    pub fn kinds() -> Vec<&'static str> {
        ProviderKind::all().map(ProviderKind::name).collect()
    }

    /// Returns the known services.
    pub fn services() -> Vec<ModelServiceResponse> {
        MODEL_SERVICES.into_iter().map(ModelServiceResponse::from).collect()
    }
}

fn parse_key(typed: Option<ApiKeyField>) -> Result<Option<Secret>, ApiError> {
    let key = typed.map(|typed| parse_api_key(&typed.0)).transpose();
    key.map_err(|message| ApiError::invalid("key", message))
}

impl CreateProviderRequest {
    /// Returns the connection to add and its key.
    ///
    /// # Errors
    /// Returns an error if the key is invalid.
    pub fn into_connection(self) -> Result<(ProviderConnection, Option<Secret>), ApiError> {
        let Self { id, kind, base_url, models, context_tokens, .. } = self;
        Ok((ProviderConnection { id, kind, base_url, models, context_tokens }, parse_key(self.key)?))
    }
}

impl UpdateProviderRequest {
    /// Returns the change.
    ///
    /// # Errors
    /// Returns an error if the key is invalid.
    pub fn change(self) -> Result<ConnectionChange, ApiError> {
        let key = self.key.map(parse_key).transpose()?;
        let Self { kind, base_url, models, context_tokens, .. } = self;
        Ok(ConnectionChange { kind, base_url, key, models, context_tokens })
    }
}

/// What to test: the connection, its key if one was sent, and the model.
pub type ProviderTestParts = (ProviderConnection, Option<Option<Secret>>, Option<String>);

impl TestNewProviderRequest {
    /// Returns what to test.
    ///
    /// # Errors
    /// Returns an error if the key is invalid.
    pub fn into_test_parts(self) -> Result<ProviderTestParts, ApiError> {
        // The id is not stored, so any will do.
        let id = self.id.unwrap_or_else(|| "new".to_owned());
        let Self { kind, base_url, .. } = self;
        let connection = ProviderConnection { id, kind, base_url, models: Vec::new(), context_tokens: None };
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
        // A server that lists no models but replies is usable.
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
            ProviderFailure::NoCredit { status, .. } | ProviderFailure::Failed { status, .. } => *status,
            _ => None,
        };
        Self { code: failure.code(), status, args: failure.args(), message: failure.to_string(), hint: failure.hint() }
    }
}

impl From<ConnectError> for ApiError {
    fn from(error: ConnectError) -> Self {
        let message = error.to_string();
        match error {
            ConnectError::Invalid { field, .. } => Self::invalid(field, message),
            ConnectError::Configured(_) => Self::new(ApiErrorCode::Conflict, message)
                .hint("change its block in config.toml, and restart the server"),
            ConnectError::NotFound => Self::not_found("the provider"),
            ConnectError::Keyring(_) => {
                let error = Self::new(ApiErrorCode::Unavailable, "the key cannot be encrypted or decrypted");
                tracing::error!("{message}");
                error.hint("enter the key again; the server's log describes the problem with the key file")
            }
            ConnectError::Write(error) => error.into(),
            ConnectError::Stopped => Self::new(ApiErrorCode::Unavailable, message),
        }
    }
}
