//! Documents: texts that can be retrieved for prompts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::PageQuery;
use super::ids::{WireDocumentId, WireId};
use super::query_number::PageLimit;
use super::records::CodedMessageSchema;
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::limits;
use clotho_engine::turn::{RankedDocument, RankedDocuments};
use clotho_store as store;

/// Maximum size of a document's metadata, in bytes of JSON.
const MAX_METADATA_BYTES: usize = 16 << 10;
/// Maximum length of a query, in characters.
const MAX_QUERY_CHARS: usize = 4_000;
/// Maximum number of search results.
const MAX_SEARCH_RESULTS: u32 = 50;

/// A text that can be retrieved for prompts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentResponse {
    /// Id of the document.
    pub id: WireDocumentId,
    /// Collection of the document; sessions search whole collections.
    pub collection: String,
    /// Full text.
    pub content: String,
    /// Free-form data of the owner.
    #[schema(value_type = JsonMap)]
    pub metadata: Map<String, Value>,
    /// Creation time, ISO 8601 UTC.
    pub created_at: String,
}

/// A collection of documents.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentCollectionResponse {
    /// Name of the collection.
    pub name: String,
    /// Number of documents in the collection.
    pub count: i64,
}

/// A filter and a page of documents.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct DocumentQuery {
    /// Only documents of this collection.
    pub collection: Option<String>,
    /// Maximum number of items, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
}

/// A new document.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDocumentRequest {
    /// Collection of the document; created if it does not exist.
    pub collection: String,
    /// Full text.
    pub content: String,
    /// Free-form data, at most 16 KiB as JSON.
    #[serde(default)]
    #[schema(value_type = JsonMap)]
    pub metadata: Map<String, Value>,
}

/// A search for documents.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DocumentSearchRequest {
    /// Collections to search; no others are searched.
    pub collections: Vec<String>,
    /// Query text, 1 to 4000 characters.
    pub query: String,
    /// Maximum number of results, 1 to 50; default 10.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 50)]
    pub limit: Option<u32>,
}

/// Search results.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSearchResponse {
    /// Found documents, best match first.
    pub items: Vec<DocumentSearchHit>,
    /// Why only keywords were searched although an embedding model is configured; null otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub problem: Option<String>,
    /// The same as code, arguments and sentence; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = CodedMessageSchema)]
    pub failure: Option<RenderedMessage>,
}

/// One search result.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentSearchHit {
    /// The document that was found.
    #[serde(flatten)]
    pub document: DocumentResponse,
    /// Relevance within this result list; not comparable between searches.
    pub score: f32,
    /// Cosine similarity, -1 to 1; null if found by keywords alone.
    #[schema(required)]
    pub similarity: Option<f32>,
}

impl DocumentQuery {
    /// Returns the requested page.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

impl CreateDocumentRequest {
    /// Checks the fields; `limit` is the maximum size of the text in bytes.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn check(&self, limit: usize) -> Result<(), ApiError> {
        limits::check_collection(&self.collection)?;
        if self.content.trim().is_empty() {
            return Err(ApiError::invalid("content", "a document needs a text"));
        }
        if self.content.len() > limit {
            let message = format!("a document has at most {limit} bytes: split it");
            return Err(ApiError::invalid("content", message));
        }
        if Value::Object(self.metadata.clone()).to_string().len() > MAX_METADATA_BYTES {
            let message = format!("the metadata of a document has at most {MAX_METADATA_BYTES} bytes");
            return Err(ApiError::invalid("metadata", message));
        }
        Ok(())
    }
}

impl DocumentSearchRequest {
    /// Returns the collections, the query and the number of results.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self) -> Result<(Vec<String>, String, usize), ApiError> {
        limits::check_collections(&self.collections)?;
        let length = self.query.chars().count();
        if self.query.trim().is_empty() || length > MAX_QUERY_CHARS {
            return Err(ApiError::invalid("query", format!("expected 1 to {MAX_QUERY_CHARS} characters")));
        }
        let limit = self.limit.unwrap_or(10);
        if !(1..=MAX_SEARCH_RESULTS).contains(&limit) {
            return Err(ApiError::invalid("limit", format!("expected 1 to {MAX_SEARCH_RESULTS}")));
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
        let problem = found.problem.as_ref().map(|problem| problem.message.clone());
        Self { items: found.items.into_iter().map(one).collect(), problem, failure: found.problem }
    }
}
