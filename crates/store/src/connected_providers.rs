//! Model servers that were connected at runtime, and the default model chosen then. They belong to the whole
//! server and not to a session, so the operation log does not record them.

use diesel::prelude::*;

use clotho_core::clock::Time;
use clotho_core::tree::edit::TreeError;

use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{choices, providers};
use super::tx::Tx;

/// The key under which the chosen model is stored.
const MODEL_KEY: &str = "model";

/// A model server that was connected at runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedProvider {
    /// The prefix of its models: `id/model`.
    pub id: String,
    /// The kind of its API.
    pub kind: String,
    pub base_url: String,
    /// Its encrypted API key; `None` if it needs none.
    pub sealed_key: Option<Vec<u8>>,
    /// The names of its models; if empty, the server is asked for them.
    pub models: Vec<String>,
    /// The context length of its models in tokens; `None` if the server is asked for it.
    pub context_tokens: Option<u32>,
    pub created: Time,
    pub updated: Time,
}

type ProviderRow = (i64, String, String, String, Option<Vec<u8>>, String, i64, i64, Option<i64>);

impl StoreReader<'_> {
    /// Returns all connected model servers in the order in which they were added.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn connected_providers(&mut self) -> Result<Vec<ConnectedProvider>, StoreError> {
        let rows: Vec<ProviderRow> = providers::table.order(providers::n).load(self.conn)?;
        rows.into_iter().map(provider_from_row).collect()
    }

    /// Returns the chosen model for sessions that name none.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn chosen_model(&mut self) -> Result<Option<String>, StoreError> {
        Ok(choices::table.find(MODEL_KEY).select(choices::value).get_result(self.conn).optional()?)
    }
}

fn provider_from_row(
    (n, id, kind, base_url, sealed_key, models, created, updated, context_tokens): ProviderRow,
) -> Result<ConnectedProvider, StoreError> {
    let damaged = |_| StoreError::Inconsistent { table: "providers", column: "models", row: n };
    let models = serde_json::from_str(&models).map_err(damaged)?;
    let damaged = |_| StoreError::Inconsistent { table: "providers", column: "context_tokens", row: n };
    let context_tokens = context_tokens.map(u32::try_from).transpose().map_err(damaged)?;
    let (created, updated) = (Time(created), Time(updated));
    Ok(ConnectedProvider { id, kind, base_url, sealed_key, models, context_tokens, created, updated })
}

impl Tx<'_> {
    /// Adds a model server.
    ///
    /// # Errors
    /// Returns an error if its id is taken, or if the database fails.
    pub fn put_provider(&mut self, new: &ConnectedProvider) -> Result<(), WriteError> {
        let count: i64 =
            self.run(|conn| Ok(providers::table.filter(providers::id.eq(&new.id)).count().get_result(conn)?))?;
        if count > 0 {
            let message = format!("another provider already has the name {:?}", new.id);
            return Err(TreeError::Invalid { field: "id", message }.into());
        }
        self.run(|conn| {
            let row = (
                providers::id.eq(&new.id),
                providers::kind.eq(&new.kind),
                providers::base_url.eq(&new.base_url),
                providers::sealed_key.eq(&new.sealed_key),
                providers::models.eq(models_to_text(&new.models)),
                providers::context_tokens.eq(new.context_tokens.map(i64::from)),
                providers::created.eq(new.created.0),
                providers::updated.eq(new.updated.0),
            );
            diesel::insert_into(providers::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Replaces all data of a model server except its id.
    ///
    /// # Errors
    /// Returns an error if it does not exist, or if the database fails.
    pub fn update_provider(&mut self, new: &ConnectedProvider) -> Result<(), WriteError> {
        let changed = self.run(|conn| {
            let set = (
                providers::kind.eq(&new.kind),
                providers::base_url.eq(&new.base_url),
                providers::sealed_key.eq(&new.sealed_key),
                providers::models.eq(models_to_text(&new.models)),
                providers::context_tokens.eq(new.context_tokens.map(i64::from)),
                providers::updated.eq(new.updated.0),
            );
            Ok(diesel::update(providers::table.filter(providers::id.eq(&new.id))).set(set).execute(conn)?)
        })?;
        if changed == 1 { Ok(()) } else { Err(TreeError::NotFound("the provider").into()) }
    }

    /// Deletes a model server with its key. If one of its models was chosen, the choice is cleared.
    ///
    /// # Errors
    /// Returns an error if it does not exist, or if the database fails.
    pub fn delete_provider(&mut self, id: &str) -> Result<(), WriteError> {
        let gone = self.run(|conn| Ok(diesel::delete(providers::table.filter(providers::id.eq(id))).execute(conn)?))?;
        if gone != 1 {
            return Err(TreeError::NotFound("the provider").into());
        }
        let chosen: Option<String> =
            self.run(|conn| Ok(choices::table.find(MODEL_KEY).select(choices::value).get_result(conn).optional()?))?;
        if chosen.is_some_and(|model| model.split_once('/').is_some_and(|(provider, _)| provider == id)) {
            self.choose_model(None)?;
        }
        Ok(())
    }

    /// Chooses the model of sessions that name none; `None` means the model of the settings.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn choose_model(&mut self, model: Option<&str>) -> Result<(), WriteError> {
        self.run(|conn| {
            diesel::delete(choices::table.find(MODEL_KEY)).execute(conn)?;
            if let Some(model) = model {
                let row = (choices::name.eq(MODEL_KEY), choices::value.eq(model));
                diesel::insert_into(choices::table).values(row).execute(conn)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn models_to_text(models: &[String]) -> String {
    serde_json::Value::from(models).to_string()
}
