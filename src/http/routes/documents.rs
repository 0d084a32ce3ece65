//! Documents: texts that are kept for prompts, in collections that sessions look through.

use super::Program;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{Oid, Query};
use crate::http::wire::documents::{Collection, Document, DocumentQuery, DocumentSearch, DocumentsFound, NewDocument};
use crate::http::wire::{List, Page, PageQuery};
use crate::ids::DocumentId;
use crate::store::{self, Claim, Tx};

/// The caller's documents, oldest first.
///
/// # Errors
/// The page does not fit.
pub async fn list(app: Program, caller: Caller, query: Query<DocumentQuery>) -> Answer<Page<Document>> {
    let (limit, skip) = query.0.page().bounds()?;
    let collection = query.0.collection;
    let read =
        move |reader: &mut store::Reader<'_>| Ok(reader.documents(caller.0, collection.as_deref(), skip, limit + 1)?);
    let documents = app.store.read::<_, ApiError, _>(read).await?;
    Reply::ok(&PageQuery::page(documents.into_iter().map(Document::from).collect(), limit, skip))
}

/// The caller's collections, by their names.
///
/// # Errors
/// The database fails.
pub async fn collections(app: Program, caller: Caller) -> Answer<List<Collection>> {
    let all = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.collections(caller.0)?)).await?;
    Reply::ok(&List(all.into_iter().map(Collection::from).collect()))
}

/// Keeps a new one. Its vector is made in the background.
///
/// # Errors
/// A field does not fit.
pub async fn create(app: Program, caller: Caller, body: Body<NewDocument>) -> Answer<Document> {
    if let Some(made) = Claim::made_before() {
        return Reply::created(&Document::from(load(&app, caller, Oid(made)).await?));
    }
    body.0.check(app.config.limits.message_bytes)?;
    let NewDocument { collection, content, metadata } = body.0;
    let now = app.clock.now();
    let new = store::Document { id: DocumentId::new(app.ids.next(now)), collection, content, metadata, created: now };
    let (kept, claim, hash) = (new.clone(), Claim::present(), app.turns.text_hash(&new.content));
    let write = move |tx: &mut Tx<'_>| {
        tx.put_document(caller.0, &kept, hash)?;
        tx.act_for(claim.as_ref(), &kept.id)
    };
    app.store.write(write).await?;
    if let Some(embedding) = &app.embedding {
        embedding.ring();
    }
    Reply::created(&Document::from(new))
}

/// One of the caller's.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, caller: Caller, id: Oid) -> Answer<Document> {
    Reply::ok(&Document::from(load(&app, caller, id).await?))
}

/// Destroys one for good, with its vector.
///
/// # Errors
/// It is not there.
pub async fn delete(app: Program, caller: Caller, id: Oid) -> Answer<Nothing> {
    app.store.write(move |tx| tx.drop_document(caller.0, id.0)).await?;
    Ok(Reply::done())
}

/// The best documents of some collections for a question.
///
/// # Errors
/// A field does not fit.
pub async fn search(app: Program, caller: Caller, body: Body<DocumentSearch>) -> Answer<DocumentsFound> {
    let (collections, question, most) = body.0.read()?;
    let found = app.turns.find_documents(caller.0, collections, question, most).await?;
    Reply::ok(&DocumentsFound::from(found))
}

async fn load(app: &Program, caller: Caller, id: Oid) -> Result<store::Document, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.document(caller.0, id.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(Oid::WHAT))
}
