//! Documents: texts that users keep for prompts, in collections. A deleted document is gone at once, with its
//! vectors; there is no trash for documents.

use diesel::prelude::*;
use serde_json::{Map, Value};

use clotho_core::clock::Time;
use clotho_core::ids::{DocumentId, UserId};
use clotho_core::tree::edit::TreeError;

use super::error::{StoreError, WriteError};
use super::pending_erasures;
use super::read::StoreReader;
use super::tables::{documents, users};
use super::tx::Tx;
use super::vectors::{self, EmbeddableText, hash_of};

/// A document: a text that may be put into prompts.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredDocument {
    pub id: DocumentId,
    /// The collection that it belongs to.
    pub collection: String,
    pub content: String,
    /// Free-form data of its owner.
    pub metadata: Map<String, Value>,
    pub created: Time,
}

type DocumentColumns = (i64, Vec<u8>, String, String, String, i64);

/// Query for the caller's documents.
macro_rules! documents_of {
    ($caller:expr) => {
        documents::table
            .inner_join(users::table.on(users::n.eq(documents::owner_n)))
            .filter(users::id.eq($caller.as_bytes().to_vec()))
    };
}

/// The columns of a document.
macro_rules! document_columns {
    () => {
        (
            documents::n,
            documents::id,
            documents::collection,
            documents::content,
            documents::metadata,
            documents::created,
        )
    };
}

impl StoreReader<'_> {
    /// Returns the caller's documents, oldest first, after skipping `skip` of them. `collection` restricts them
    /// to one.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn documents(
        &mut self,
        caller: UserId,
        collection: Option<&str>,
        skip: i64,
        limit: i64,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let mut some = documents_of!(caller).select(document_columns!()).into_boxed();
        if let Some(collection) = collection {
            some = some.filter(documents::collection.eq(collection));
        }
        let rows: Vec<DocumentColumns> = some.order(documents::n).offset(skip).limit(limit).load(self.conn)?;
        rows.into_iter().map(document).collect()
    }

    /// Returns one of the caller's documents by its row.
    ///
    /// # Errors
    /// Returns an error if the database fails or the row is damaged.
    pub fn document_by_row(&mut self, caller: UserId, n: i64) -> Result<Option<StoredDocument>, StoreError> {
        let one = documents_of!(caller).filter(documents::n.eq(n)).select(document_columns!());
        let row: Option<DocumentColumns> = one.get_result(self.conn).optional()?;
        row.map(document).transpose()
    }

    /// Returns one of the caller's documents by its id.
    ///
    /// # Errors
    /// Returns an error if the database fails or the row is damaged.
    pub fn document(&mut self, caller: UserId, id: DocumentId) -> Result<Option<StoredDocument>, StoreError> {
        let one = documents_of!(caller).filter(documents::id.eq(id.as_bytes().to_vec())).select(document_columns!());
        let row: Option<DocumentColumns> = one.get_result(self.conn).optional()?;
        row.map(document).transpose()
    }

    /// Returns the caller's collections, each with its number of documents.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn collections(&mut self, caller: UserId) -> Result<Vec<(String, i64)>, StoreError> {
        let all = documents_of!(caller).group_by(documents::collection).order(documents::collection);
        Ok(all.select((documents::collection, diesel::dsl::count_star())).load(self.conn)?)
    }

    /// Returns what is needed to rank documents of these collections, newest first: up to `limit` rows before
    /// `before`.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn embeddable_documents(
        &mut self,
        caller: UserId,
        collections: &[String],
        before: i64,
        limit: i64,
    ) -> Result<Vec<EmbeddableText>, StoreError> {
        let some = documents_of!(caller)
            .filter(documents::collection.eq_any(collections))
            .filter(documents::n.lt(before))
            .order(documents::n.desc())
            .limit(limit);
        let rows: Vec<(i64, Vec<u8>, String)> =
            some.select((documents::n, documents::hash, documents::content)).load(self.conn)?;
        rows.into_iter().map(|(n, hash, content)| Ok(EmbeddableText { n, hash: hash_of(n, &hash)?, content })).collect()
    }
}

fn document((n, id, collection, content, metadata, created): DocumentColumns) -> Result<StoredDocument, StoreError> {
    let id = DocumentId::from_slice(&id).ok_or_else(|| damaged_row("id", n))?;
    let metadata = serde_json::from_str(&metadata).map_err(|_| damaged_row("metadata", n))?;
    Ok(StoredDocument { id, collection, content, metadata, created: Time(created) })
}

const fn damaged_row(column: &'static str, row: i64) -> StoreError {
    StoreError::Inconsistent { table: "documents", column, row }
}

impl Tx<'_> {
    /// Adds a document; `hash` is the key of its vector.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_document(&mut self, owner: UserId, new: &StoredDocument, hash: blake3::Hash) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        self.run(|conn| {
            let n: Option<i64> = documents::table.select(diesel::dsl::max(documents::n)).get_result(conn)?;
            let row = (
                documents::n.eq(n.unwrap_or(0) + 1),
                documents::id.eq(new.id.as_bytes().to_vec()),
                documents::owner_n.eq(owner_n),
                documents::collection.eq(&new.collection),
                documents::content.eq(&new.content),
                documents::metadata.eq(Value::Object(new.metadata.clone()).to_string()),
                documents::hash.eq(hash.as_bytes().to_vec()),
                documents::created.eq(new.created.0),
            );
            diesel::insert_into(documents::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Deletes one of the caller's documents permanently, with its vector.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn delete_document(&mut self, owner: UserId, id: DocumentId) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        let own: Option<(i64, Vec<u8>)> = self.run(|conn| {
            let own = documents::table
                .filter(documents::id.eq(id.as_bytes().to_vec()))
                .filter(documents::owner_n.eq(owner_n));
            Ok(own.select((documents::n, documents::hash)).get_result(conn).optional()?)
        })?;
        let (n, hash) = own.ok_or(TreeError::NotFound("the document"))?;
        self.run(|conn| {
            diesel::delete(documents::table.find(n)).execute(conn)?;
            vectors::delete_vectors(conn, &[hash])?;
            pending_erasures::mark_erasure(conn)?;
            Ok(())
        })?;
        Ok(())
    }
}
