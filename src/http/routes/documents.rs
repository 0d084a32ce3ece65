//! Documents: texts that can be retrieved for prompts, in collections that sessions search.

use super::AppData;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{DocumentIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::documents::{
    CreateDocumentRequest, DocumentCollectionResponse, DocumentQuery, DocumentResponse, DocumentSearchRequest,
    DocumentSearchResponse,
};
use crate::http::wire::{ListResponse, PageQuery, PageResponse};
use clotho_core::ids::DocumentId;
use clotho_store::{self as store, IdempotencyClaim, Tx};

/// Lists the caller's documents, oldest first.
///
/// # Errors
/// Returns an error if the page parameters are invalid.
pub async fn list(
    app: AppData,
    caller: Caller,
    query: QueryParams<DocumentQuery>,
) -> ApiResult<PageResponse<DocumentResponse>> {
    let (limit, skip) = query.0.page().limit_and_offset()?;
    let collection = query.0.collection;
    let read = move |reader: &mut store::StoreReader<'_>| {
        Ok(reader.documents(caller.0, collection.as_deref(), skip, limit + 1)?)
    };
    let documents = app.store.read::<_, ApiError, _>(read).await?;
    ApiResponse::ok(&PageQuery::page(documents.into_iter().map(DocumentResponse::from).collect(), limit, skip))
}

/// Lists the caller's collections by name.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn collections(app: AppData, caller: Caller) -> ApiResult<ListResponse<DocumentCollectionResponse>> {
    let all = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.collections(caller.0)?)).await?;
    ApiResponse::ok(&ListResponse(all.into_iter().map(DocumentCollectionResponse::from).collect()))
}

/// Creates a document. Its vector is computed in the background.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn create(
    app: AppData,
    caller: Caller,
    body: JsonBody<CreateDocumentRequest>,
) -> ApiResult<DocumentResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        return ApiResponse::created(&DocumentResponse::from(load(&app, caller, DocumentIdPath(previous)).await?));
    }
    body.0.check(app.config.limits.message_bytes)?;
    let CreateDocumentRequest { collection, content, metadata } = body.0;
    let now = app.clock.now();
    let new = store::StoredDocument {
        id: DocumentId::new(app.ids.next_id(now)),
        collection,
        content,
        metadata,
        created: now,
    };
    let (stored, claim, hash) = (new.clone(), IdempotencyClaim::current(), app.turns.documents.text_hash(&new.content));
    let write = move |tx: &mut Tx<'_>| {
        tx.put_document(caller.0, &stored, hash)?;
        tx.record_claim(claim.as_ref(), &stored.id)
    };
    app.store.write(write).await?;
    if let Some(embedding) = &app.embedding {
        embedding.notify();
    }
    ApiResponse::created(&DocumentResponse::from(new))
}

/// Returns one of the caller's documents.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn read(app: AppData, caller: Caller, id: DocumentIdPath) -> ApiResult<DocumentResponse> {
    ApiResponse::ok(&DocumentResponse::from(load(&app, caller, id).await?))
}

/// Deletes a document and its vector permanently.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn delete(app: AppData, caller: Caller, id: DocumentIdPath) -> ApiResult<NoContent> {
    app.store.write(move |tx| tx.delete_document(caller.0, id.0)).await?;
    Ok(ApiResponse::no_content())
}

/// Searches collections for the best documents for a query.
///
/// # Errors
/// Returns an error if a field is invalid.
pub async fn search(
    app: AppData,
    caller: Caller,
    body: JsonBody<DocumentSearchRequest>,
) -> ApiResult<DocumentSearchResponse> {
    let (collections, question, most) = body.0.read()?;
    let found = app.turns.documents.find_documents(caller.0, collections, question, most).await?;
    ApiResponse::ok(&DocumentSearchResponse::from(found))
}

async fn load(app: &AppData, caller: Caller, id: DocumentIdPath) -> Result<store::StoredDocument, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.document(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(DocumentIdPath::WHAT))
}
