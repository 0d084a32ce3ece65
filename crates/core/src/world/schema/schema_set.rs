//! The active schemas and the roots they govern.

use std::sync::Arc;

use serde_json::Value;

use super::{Schema, SchemaError};
use crate::world::{Pointer, World};

/// The active schemas at a node, each governing exactly its own root; roots do not nest.
#[derive(Debug, Clone, Default)]
pub struct SchemaSet {
    roots: Vec<(Pointer, Arc<Schema>)>,
}

impl SchemaSet {
    /// Creates a set from roots and their schemas.
    ///
    /// # Errors
    /// Returns an error if two roots are equal or nested.
    pub fn new(roots: Vec<(Pointer, Arc<Schema>)>) -> Result<Self, SchemaError> {
        let mut seen: Vec<&Pointer> = Vec::new();
        for (root, _) in &roots {
            if let Some(other) = seen.iter().find(|other| other.touches(root)) {
                let message = format!("this root overlaps the root \"{other}\"; roots cannot be nested");
                return Err(SchemaError { path: root.clone(), message });
            }
            seen.push(root);
        }
        Ok(Self { roots })
    }

    /// Returns the roots with their schemas.
    pub fn roots(&self) -> &[(Pointer, Arc<Schema>)] {
        &self.roots
    }

    /// Returns the root at or above a path with its schema; `None` if no schema governs the path.
    pub fn schema_for(&self, path: &Pointer) -> Option<(&Pointer, &Schema)> {
        let (root, schema) = self.roots.iter().find(|(root, _)| path.below(root).is_some())?;
        Some((root, schema))
    }

    /// Returns whether `x-visible` hides a place from players, always or in the current state.
    pub fn hides(&self, world: &World, place: &Pointer) -> bool {
        let governing = self.roots.iter().find_map(|(root, schema)| Some((root, place.below(root)?, schema)));
        let Some((root, keys, schema)) = governing else { return false };
        let keys = Pointer::from_keys(keys.iter().cloned());
        let hidden = schema.hidden_paths(world.get(root).unwrap_or(&Value::Null));
        hidden.iter().any(|hidden| keys.below(hidden).is_some())
    }

    /// Returns whether any schema has computed values.
    pub fn has_computed(&self) -> bool {
        self.roots.iter().any(|(_, schema)| !schema.computed_fields().is_empty())
    }

    /// Returns whether a path is computed or lies inside a computed value.
    pub(in crate::world) fn is_computed(&self, path: &Pointer) -> bool {
        let governing = self.roots.iter().find_map(|(root, schema)| Some((path.below(root)?, schema)));
        governing.is_some_and(|(keys, schema)| schema.is_computed(keys))
    }

    /// Returns a root strictly below a path.
    pub(in crate::world) fn root_inside(&self, path: &Pointer) -> Option<&Pointer> {
        self.roots.iter().map(|(root, _)| root).find(|root| root.below(path).is_some_and(|keys| !keys.is_empty()))
    }
}
