//! The fields of the index, and writing a document.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, STRING, Schema, TextFieldIndexing,
    TextOptions,
};
use tantivy::{TantivyDocument, Term};

use super::{IndexedValue, SearchDocument, analyzer};
use clotho_core::ids::{CharacterId, NodeId, SessionId, UserId};

/// The format version. Increment it when the meaning of fields or terms changes; other versions are rebuilt.
pub(super) const FORMAT: u32 = 5;

/// Length of the stored hash of a node's values, in bytes.
const SUM_BYTES: usize = 8;

/// The name of the time field, which orders equal hits.
pub(super) const TIME: &str = "time";

/// The fields of the index.
pub(super) struct IndexFields {
    pub schema: Schema,
    pub node: Field,
    pub session: Field,
    pub owner: Field,
    pub character: Field,
    pub role: Field,
    pub name: Field,
    pub text: Field,
    /// Stems of the English words in the text.
    pub stems: Field,
    pub time: Field,
    /// Keys of the searchable values.
    pub keys: Field,
    /// Keys combined with their values.
    pub values: Field,
    /// A hash of all values, so that the doctor can compare them without storing them.
    pub sum: Field,
}

/// The fields of the current format.
pub(super) static FIELDS: LazyLock<IndexFields> = LazyLock::new(|| {
    let mut builder = Schema::builder();
    let id = BytesOptions::default().set_indexed();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(analyzer::NAME)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let words = TextOptions::default().set_indexing_options(indexing).set_stored();
    let counted =
        TextFieldIndexing::default().set_tokenizer(analyzer::STEMS).set_index_option(IndexRecordOption::WithFreqs);
    IndexFields {
        node: builder.add_bytes_field("node", id.clone().set_stored()),
        session: builder.add_bytes_field("session", id.clone().set_stored()),
        owner: builder.add_bytes_field("owner", id.clone()),
        character: builder.add_bytes_field("character", id.set_stored()),
        role: builder.add_text_field("role", STRING | STORED),
        name: builder.add_text_field("name", words.clone()),
        text: builder.add_text_field("text", words),
        stems: builder.add_text_field("stems", TextOptions::default().set_indexing_options(counted)),
        time: builder.add_i64_field(TIME, NumericOptions::default() | INDEXED | STORED | FAST),
        keys: builder.add_text_field("keys", STRING),
        values: builder.add_text_field("values", STRING),
        sum: builder.add_bytes_field("sum", STORED),
        schema: builder.build(),
    }
});

impl IndexFields {
    /// Returns the term by which a node is found and replaced.
    pub fn node_term(&self, node: NodeId) -> Term {
        Term::from_field_bytes(self.node, node.as_bytes())
    }

    /// Returns the term of all nodes of a session.
    pub fn session_term(&self, session: SessionId) -> Term {
        Term::from_field_bytes(self.session, session.as_bytes())
    }

    /// Returns the term of all nodes of an owner.
    pub fn owner_term(&self, owner: UserId) -> Term {
        Term::from_field_bytes(self.owner, owner.as_bytes())
    }

    /// Returns the term of all messages of a character.
    pub fn character_term(&self, character: CharacterId) -> Term {
        Term::from_field_bytes(self.character, character.as_bytes())
    }

    /// Converts a document for tantivy.
    pub fn to_document(&self, document: &SearchDocument) -> TantivyDocument {
        let mut doc = TantivyDocument::default();
        doc.add_bytes(self.node, document.node.as_bytes());
        doc.add_bytes(self.session, document.session.as_bytes());
        doc.add_bytes(self.owner, document.owner.as_bytes());
        if let Some(character) = document.character {
            doc.add_bytes(self.character, character.as_bytes());
        }
        doc.add_text(self.role, document.role.as_str());
        doc.add_text(self.name, &document.name);
        doc.add_text(self.text, &document.text);
        doc.add_text(self.stems, &document.text);
        doc.add_i64(self.time, document.time.0);
        self.write_facts(&mut doc, &document.facts);
        doc
    }

    fn write_facts(&self, doc: &mut TantivyDocument, facts: &[IndexedValue]) {
        let keys: BTreeSet<&String> = facts.iter().flat_map(|fact| &fact.keys).collect();
        let values: BTreeSet<String> = facts.iter().flat_map(IndexedValue::terms).collect();
        for key in keys {
            doc.add_text(self.keys, key);
        }
        for value in &values {
            doc.add_text(self.values, value);
        }
        if !facts.is_empty() {
            doc.add_bytes(self.sum, &values_hash(facts));
        }
    }
}

/// Hashes the values of a node; empty if there are none.
pub(super) fn values_hash(facts: &[IndexedValue]) -> Vec<u8> {
    if facts.is_empty() {
        return Vec::new();
    }
    let values: BTreeSet<String> = facts.iter().flat_map(IndexedValue::terms).collect();
    let mut hasher = blake3::Hasher::new();
    for value in values {
        hasher.update(&value.len().to_le_bytes()).update(value.as_bytes());
    }
    hasher.finalize().as_bytes().iter().take(SUM_BYTES).copied().collect()
}
