//! The active rules of nodes. They are facts of the path, stored by hash (`domain.md` 3.2).

use std::sync::Arc;

use serde_json::{Map, Value, json};

use clotho_core::world::{Pointer, Schema, SchemaSet};

use super::blobs;
use super::conn::Conn;
use super::error::StoreError;

/// The state version of records that do not name one.
const FIRST_STATE_VERSION: u32 = 1;

/// One active plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginRecord {
    pub id: String,
    pub version: String,
    /// The hash of its code.
    pub code_hash: String,
    /// Its settings.
    pub config: Map<String, Value>,
    /// The granted permissions.
    pub grants: Vec<String>,
    /// The place of its state in `vars`, if it has any.
    pub root: Option<Pointer>,
    /// The JSON Schema of its root.
    pub schema: Option<Value>,
    /// The version of the layout of its state.
    pub state_version: u32,
}

/// Rules as node drafts share them.
pub type SharedRules = Arc<ActiveRules>;

/// The active rules at a node.
#[derive(Debug, Clone, Default)]
pub struct ActiveRules {
    /// The plugins, in the order in which they run.
    pub plugins: Vec<PluginRecord>,
    /// Their schemas, ready for the fold.
    pub rules: SchemaSet,
}

impl ActiveRules {
    /// Creates rules from the active plugins.
    ///
    /// # Errors
    /// Returns an error message if a schema cannot be read, or if two roots overlap.
    pub fn new(plugins: Vec<PluginRecord>) -> Result<Self, String> {
        let mut roots = Vec::new();
        for plugin in &plugins {
            if let (Some(root), Some(schema)) = (&plugin.root, &plugin.schema) {
                let schema = Schema::parse(schema.clone()).map_err(|error| format!("{}: {error}", plugin.id))?;
                roots.push((root.clone(), Arc::new(schema)));
            }
        }
        let rules = SchemaSet::new(roots).map_err(|error| error.to_string())?;
        Ok(Self { plugins, rules })
    }

    /// Reads rules from their stored form; `schema` returns the bytes of a schema by hash. Returns `None` if the
    /// bytes are invalid.
    ///
    /// # Errors
    /// Returns an error if `schema` fails.
    pub fn parse<E>(list: &[u8], mut schema: impl FnMut(&str) -> Result<Vec<u8>, E>) -> Result<Option<Self>, E> {
        let Ok(list) = serde_json::from_slice::<Vec<Value>>(list) else { return Ok(None) };
        let mut plugins = Vec::new();
        for value in &list {
            let schema = match value.get("schemaHash").and_then(Value::as_str) {
                Some(hash) => match serde_json::from_slice(&schema(hash)?) {
                    Ok(schema) => Some(schema),
                    Err(_) => return Ok(None),
                },
                None => None,
            };
            let Some(plugin) = plugin_from_json(value, schema) else { return Ok(None) };
            plugins.push(plugin);
        }
        Ok(Self::new(plugins).ok())
    }

    /// Returns whether both have the same plugins, code and settings in the same order.
    pub fn is_same(&self, other: &Self) -> bool {
        self.plugins == other.plugins
    }
}

/// Writes rules as a blob. Schemas are separate blobs, which many versions of the settings share.
pub fn write(conn: &mut Conn, rules: &ActiveRules) -> Result<i64, StoreError> {
    let mut list = Vec::new();
    for plugin in &rules.plugins {
        let schema = match &plugin.schema {
            Some(schema) => Some(blobs::put(conn, schema.to_string().as_bytes())?.1),
            None => None,
        };
        let mut record = json!({
            "id": plugin.id, "version": plugin.version, "codeHash": plugin.code_hash, "config": plugin.config,
            "grants": plugin.grants, "root": plugin.root.as_ref().map(ToString::to_string), "schemaHash": schema,
        });
        // The first version is omitted, as in all records from before there were others.
        if let Some(record) = record.as_object_mut().filter(|_| plugin.state_version != FIRST_STATE_VERSION) {
            record.insert("stateVersion".to_owned(), plugin.state_version.into());
        }
        list.push(record);
    }
    Ok(blobs::put(conn, Value::Array(list).to_string().as_bytes())?.0)
}

/// Reads the rules of a row.
pub fn read(conn: &mut Conn, rules_n: i64) -> Result<ActiveRules, StoreError> {
    let bad = || StoreError::Inconsistent { table: "blobs", column: "bytes", row: rules_n };
    let list = blobs::get(conn, rules_n)?;
    ActiveRules::parse(&list, |hash| blobs::by_hash(conn, hash))?.ok_or_else(bad)
}

fn plugin_from_json(value: &Value, schema: Option<Value>) -> Option<PluginRecord> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let root = match text("root") {
        Some(root) => Some(root.parse().ok()?),
        None => None,
    };
    let state_version = match value.get("stateVersion") {
        Some(version) => u32::try_from(version.as_u64()?).ok()?,
        None => FIRST_STATE_VERSION,
    };
    let grants = value.get("grants")?.as_array()?.iter().map(|grant| grant.as_str().map(str::to_owned));
    Some(PluginRecord {
        id: text("id")?,
        version: text("version")?,
        code_hash: text("codeHash")?,
        config: value.get("config")?.as_object()?.clone(),
        grants: grants.collect::<Option<_>>()?,
        root,
        schema,
        state_version,
    })
}
