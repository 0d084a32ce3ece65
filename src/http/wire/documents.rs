//! Documents: texts that are kept for prompts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::PageQuery;
use super::ids::{WireDocumentId, WireId};
use crate::http::error::ApiError;
use clotho_core::tree::limits;
use clotho_engine::turn::{RankedDocument, RankedDocuments};
use clotho_store as store;

/// The most bytes of what is known of a document, as JSON.
const MAX_METADATA_BYTES: usize = 16 << 10;
/// The longest question, in characters.
const MAX_QUESTION_BYTES: usize = 4_000;
/// The most documents that are found at once.
const MAX_SEARCH_RESULTS: u32 = 50;

/// A text that is kept for prompts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentResponse {
    /// Its id.
    pub id: WireDocumentId,
    /// The collection that it belongs to: sessions look through whole collections.
    pub collection: String,
    /// The text.
    pub content: String,
    /// Whatever its owner wants to know of it.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// When it came.
    pub created_at: String,
}

/// A collection of documents.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentCollectionResponse {
    /// Its name.
    pub name: String,
    /// How many documents it has.
    pub count: i64,
}

/// Which documents.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct DocumentQuery {
    /// Only those of this collection.
    pub collection: Option<String>,
    /// How many things, 1 to 500; 50 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// What `next` of the page before said.
    pub cursor: Option<String>,
}

/// A new document.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDocumentRequest {
    /// The collection that it belongs to; one that is not there begins with it.
    pub collection: String,
    /// The text.
    pub content: String,
    /// Whatever is to be known of it.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

/// What documents are looked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DocumentSearchRequest {
    /// The collections that are looked through; others never are.
    pub collections: Vec<String>,
    /// What it should be about.
    pub query: String,
    /// How many at most, 1 to 50; 10 unless said.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 50)]
    pub limit: Option<u32>,
}

/// The documents that were found.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSearchResponse {
    /// The documents, the best first.
    pub items: Vec<DocumentSearchHit>,
    /// Why they were found by words alone, though a model of embeddings is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub problem: Option<String>,
}

/// A document that was found.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSearchHit {
    /// The document.
    #[serde(flatten)]
    pub document: DocumentResponse,
    /// How good it is among these; it says nothing beside other questions.
    pub score: f32,
    /// How near its meaning is, from -1 to 1; null where it was found by its words alone.
    pub similarity: Option<f32>,
}

impl DocumentQuery {
    /// The page that it asks for.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

impl CreateDocumentRequest {
    /// Whether it may be kept; a text may have so many bytes.
    ///
    /// # Errors
    /// A field does not fit.
    pub fn check(&self, limit: usize) -> Result<(), ApiError> {
        limits::check_collection(&self.collection)?;
        if self.content.trim().is_empty() {
            return Err(ApiError::invalid("content", "a document without a text would never be found"));
        }
        if self.content.len() > limit {
            let message = format!("a document has at most {limit} bytes: cut it into several");
            return Err(ApiError::invalid("content", message));
        }
        if Value::Object(self.metadata.clone()).to_string().len() > MAX_METADATA_BYTES {
            let message = format!("what is known of a document has at most {MAX_METADATA_BYTES} bytes");
            return Err(ApiError::invalid("metadata", message));
        }
        Ok(())
    }
}

impl DocumentSearchRequest {
    /// The collections, the question, and how many are wanted.
    ///
    /// # Errors
    /// A field does not fit.
    pub fn read(self) -> Result<(Vec<String>, String, usize), ApiError> {
        limits::check_collections(&self.collections)?;
        let length = self.query.chars().count();
        if self.query.trim().is_empty() || length > MAX_QUESTION_BYTES {
            return Err(ApiError::invalid("query", format!("1 to {MAX_QUESTION_BYTES} characters are expected")));
        }
        let limit = self.limit.unwrap_or(10);
        if !(1..=MAX_SEARCH_RESULTS).contains(&limit) {
            return Err(ApiError::invalid("limit", format!("1 to {MAX_SEARCH_RESULTS} is expected")));
        }
        Ok((self.collections, self.query, usize::try_from(limit).unwrap_or(usize::MAX)))
    }
}

impl From<store::StoredDocument> for DocumentResponse {
    fn from(document: store::StoredDocument) -> Self {
        let store::StoredDocument { id, collection, content, metadata, created } = document;
        Self { id: WireId(id), collection, content, metadata, created_at: created.to_string() }
    }
}

impl From<(String, i64)> for DocumentCollectionResponse {
    fn from((name, count): (String, i64)) -> Self {
        Self { name, count }
    }
}

impl From<RankedDocuments> for DocumentSearchResponse {
    fn from(found: RankedDocuments) -> Self {
        let one = |RankedDocument { document, score, similarity }| DocumentSearchHit {
            document: document.into(),
            score,
            similarity,
        };
        Self { items: found.items.into_iter().map(one).collect(), problem: found.problem }
    }
}
