//! The state at a node, and what nodes do to it.

use std::sync::Arc;

use serde_json::Value;

use clotho_core::ids::NodeId;
use clotho_core::tree::Delta;
use clotho_core::world::{PathChange, Pointer, World, diff};
use clotho_plugin::Catalogue;
use clotho_store::{ActiveRules, StoreError, StoreReader, StoredNode, StoredSession};

use crate::error::ReadError;
use crate::lookup::{BranchSelection, branch_page};

/// The state after a node, with the schemas that are active there.
#[derive(Debug)]
pub struct WorldView {
    pub world: Arc<World>,
    pub schemas: Vec<SchemaView>,
}

/// The schema of one root of the state.
#[derive(Debug)]
pub struct SchemaView {
    /// The plugin that owns the schema.
    pub plugin: String,
    /// The root that the schema governs, from `vars`.
    pub root: Pointer,
    pub schema: Value,
    /// Title of the schema; otherwise the title of the plugin.
    pub title: Option<String>,
    /// Hidden paths as JSON Pointers from `vars`.
    pub hidden: Vec<String>,
}

/// The delta of a node, with its effect on the state.
#[derive(Debug)]
pub struct NodeDelta {
    pub delta: Delta,
    /// Paths of `vars` that differ from the parent's state.
    pub changes: Vec<PathChange>,
}

/// The deltas of one page of a branch.
#[derive(Debug)]
pub struct DeltaPage {
    /// Nodes with a non-empty delta, oldest first.
    pub deltas: Vec<(NodeId, NodeDelta)>,
    /// `before` of the page of older nodes; `None` at the start of the branch.
    pub next: Option<NodeId>,
    pub leaf: NodeId,
    /// Number of the newest operation of the session.
    pub op: i64,
}

impl NodeDelta {
    /// Returns whether the delta has no effect, operations, notes, problems or rolls. Hooks that ran do not count.
    pub fn is_empty(&self) -> bool {
        let Delta { operations, notes, problems, rolls, runs: _ } = &self.delta;
        self.changes.is_empty() && operations.is_empty() && notes.is_empty() && problems.is_empty() && rolls.is_empty()
    }
}

/// Returns the state after a node, with the schemas that are active there. `catalogue` has the titles of plugins.
///
/// # Errors
/// Returns an error if the database fails.
pub fn world_at(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    at: &StoredNode,
    catalogue: &Catalogue,
) -> Result<WorldView, StoreError> {
    let world = reader.world(stored, at)?;
    let schemas = schema_views(reader.rules(at)?.as_ref(), &world, catalogue);
    Ok(WorldView { world, schemas })
}

/// Returns the delta of a node with its effect.
///
/// # Errors
/// Returns an error if the database fails.
pub fn node_delta(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    at: &StoredNode,
) -> Result<NodeDelta, StoreError> {
    let (before, after) = (reader.world_before(stored, at)?, reader.world(stored, at)?);
    Ok(NodeDelta { delta: reader.delta(at)?, changes: diff(&before, &after) })
}

/// Returns the non-empty deltas of one page of a branch, oldest first.
///
/// # Errors
/// Returns an error if a node does not exist.
pub fn branch_deltas(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    selection: &BranchSelection,
) -> Result<DeltaPage, ReadError> {
    let (leaf, page) = branch_page(reader, stored, selection)?;
    let mut deltas = Vec::new();
    for at in &page.nodes {
        let delta = node_delta(reader, stored, at)?;
        if !delta.is_empty() {
            deltas.push((at.node.id, delta));
        }
    }
    Ok(DeltaPage { deltas, next: page.next, leaf, op: stored.session.op })
}

/// Returns the active schemas with their hidden paths.
fn schema_views(rules: &ActiveRules, world: &World, catalogue: &Catalogue) -> Vec<SchemaView> {
    let governed =
        rules.plugins.iter().filter_map(|plugin| Some((plugin, plugin.root.as_ref()?, plugin.schema.as_ref()?)));
    governed
        .map(|(plugin, root, schema)| SchemaView {
            plugin: plugin.id.clone(),
            root: root.clone(),
            schema: schema.clone(),
            title: own_title(schema).or_else(|| plugin_title(catalogue, &plugin.id)),
            hidden: hidden_paths(rules, world, root),
        })
        .collect()
}

fn own_title(schema: &Value) -> Option<String> {
    schema.get("title").and_then(Value::as_str).map(str::to_owned)
}

/// Returns the title of an installed plugin.
fn plugin_title(catalogue: &Catalogue, id: &str) -> Option<String> {
    catalogue.get(id).map(|plugin| plugin.manifest().title.get("en").to_owned())
}

/// Returns the hidden paths below a root.
fn hidden_paths(rules: &ActiveRules, world: &World, root: &Pointer) -> Vec<String> {
    let schema = rules.rules.roots().iter().find(|(own, _)| own == root).map(|(_, schema)| schema);
    let places = schema.map(|schema| schema.hidden_paths(world.get(root).unwrap_or(&Value::Null))).unwrap_or_default();
    places.iter().map(|place| format!("{root}{place}")).collect()
}
