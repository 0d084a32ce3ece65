//! Reads stored fields directly into a struct. The document type of tantivy would copy all texts.

use tantivy::schema::Field;
use tantivy::schema::document::{
    DeserializeError, DocumentDeserialize, DocumentDeserializer, ValueDeserialize, ValueDeserializer, ValueVisitor,
};

use super::schema::FIELDS;
use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, NodeId, SessionId};
use clotho_core::tree::Role;

/// The stored fields of a document.
pub(super) struct StoredFields {
    pub node: NodeId,
    pub session: SessionId,
    pub character: Option<CharacterId>,
    pub role: Role,
    pub name: String,
    pub text: String,
    pub time: Time,
    /// The hash of the node's values.
    pub sum: Vec<u8>,
}

impl DocumentDeserialize for StoredFields {
    fn deserialize<'de, D: DocumentDeserializer<'de>>(mut from: D) -> Result<Self, DeserializeError> {
        let mut parts = StoredFieldsBuilder::default();
        while let Some((field, value)) = from.next_field()? {
            parts.take(field, value);
        }
        parts.build().ok_or_else(|| DeserializeError::custom("a document is incomplete"))
    }
}

/// A value of any stored field.
enum FieldValue {
    Bytes(Vec<u8>),
    Text(String),
    Number(i64),
}

impl ValueDeserialize for FieldValue {
    fn deserialize<'de, D: ValueDeserializer<'de>>(from: D) -> Result<Self, DeserializeError> {
        from.deserialize_any(FieldValueVisitor)
    }
}

struct FieldValueVisitor;

impl ValueVisitor for FieldValueVisitor {
    type Value = FieldValue;

    fn visit_bytes(&self, bytes: Vec<u8>) -> Result<FieldValue, DeserializeError> {
        Ok(FieldValue::Bytes(bytes))
    }

    fn visit_string(&self, text: String) -> Result<FieldValue, DeserializeError> {
        Ok(FieldValue::Text(text))
    }

    fn visit_i64(&self, number: i64) -> Result<FieldValue, DeserializeError> {
        Ok(FieldValue::Number(number))
    }
}

/// The fields read so far.
#[derive(Default)]
struct StoredFieldsBuilder {
    node: Option<NodeId>,
    session: Option<SessionId>,
    character: Option<CharacterId>,
    role: Option<Role>,
    name: Option<String>,
    text: Option<String>,
    time: Option<Time>,
    sum: Vec<u8>,
}

impl StoredFieldsBuilder {
    /// Takes one field; unknown fields are ignored.
    fn take(&mut self, field: Field, part: FieldValue) {
        match part {
            FieldValue::Bytes(bytes) if field == FIELDS.node => self.node = NodeId::from_slice(&bytes),
            FieldValue::Bytes(bytes) if field == FIELDS.session => self.session = SessionId::from_slice(&bytes),
            FieldValue::Bytes(bytes) if field == FIELDS.character => self.character = CharacterId::from_slice(&bytes),
            FieldValue::Bytes(bytes) if field == FIELDS.sum => self.sum = bytes,
            FieldValue::Text(word) if field == FIELDS.role => self.role = Role::parse(&word),
            FieldValue::Text(name) if field == FIELDS.name => self.name = Some(name),
            FieldValue::Text(text) if field == FIELDS.text => self.text = Some(text),
            FieldValue::Number(moment) if field == FIELDS.time => self.time = Some(Time(moment)),
            FieldValue::Bytes(_) | FieldValue::Text(_) | FieldValue::Number(_) => {}
        }
    }

    /// Returns `None` if a required field is missing.
    fn build(self) -> Option<StoredFields> {
        Some(StoredFields {
            node: self.node?,
            session: self.session?,
            character: self.character,
            role: self.role?,
            name: self.name?,
            text: self.text?,
            time: self.time?,
            sum: self.sum,
        })
    }
}
