//! Vectors: one embedding for each text and model, found by the hash of the text, so that equal texts are
//! embedded once. All vectors are derived and may be deleted. Deleting a text deletes its vectors.

use std::collections::{HashMap, HashSet};

use diesel::prelude::*;

use clotho_compat::prompt::recall::{NearestVectors, similarity, top_scored};

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::prepared::prepared;
use super::read::StoreReader;
use super::tables::{documents, embedded, embedders, lore_texts, nodes, vectors};
use super::tx::Tx;

/// The number of hashes in one statement.
const BATCH_SIZE: usize = 256;

/// The progress of an embedding model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingProgress {
    /// The number of dimensions of its vectors.
    pub size: usize,
    /// The log cursor up to which nodes are embedded.
    pub cursor: i64,
}

/// A text that can be ranked by its vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddableText {
    pub n: i64,
    /// The hash of the embedded text.
    pub hash: blake3::Hash,
    pub content: String,
}

/// The vectors of a batch of texts.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingBatch {
    /// The vectors, with the hashes of their texts.
    pub vectors: Vec<(blake3::Hash, Vec<f32>)>,
    /// The rows of the nodes with these texts.
    pub nodes: Vec<(i64, blake3::Hash)>,
}

/// An exact search over the vectors of one model, by comparing all candidates: implements [`NearestVectors`].
pub struct VectorSearch<'r, 'c> {
    reader: &'r mut StoreReader<'c>,
    model: &'r str,
}

impl<'c> StoreReader<'c> {
    /// Returns a search over the vectors of a model.
    pub fn vectors<'r>(&'r mut self, model: &'r str) -> VectorSearch<'r, 'c> {
        VectorSearch { reader: self, model }
    }

    /// Returns the progress of a model; `None` if it has not started.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn embedding_progress(&mut self, model: &str) -> Result<Option<EmbeddingProgress>, StoreError> {
        let row: Option<(i32, i64)> =
            prepared(embedders::table.filter(embedders::model.eq(model)).select((embedders::size, embedders::cursor)))
                .get_result(self.conn)
                .optional()?;
        Ok(row.map(|(size, cursor)| EmbeddingProgress { size: usize::try_from(size).unwrap_or(0), cursor }))
    }

    /// Returns which of these texts have a vector of a model.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn hashes_with_vectors(
        &mut self,
        model: &str,
        hashes: &[blake3::Hash],
    ) -> Result<HashSet<blake3::Hash>, StoreError> {
        let mut existing = HashSet::new();
        for piece in hashes.chunks(BATCH_SIZE) {
            let named: Vec<Vec<u8>> = pad_hashes(piece);
            let some = vectors::table.filter(vectors::hash.eq_any(named)).filter(vectors::model.eq(model));
            for hash in prepared(some.select(vectors::hash)).load::<Vec<u8>>(self.conn)? {
                existing.insert(hash_of(0, &hash)?);
            }
        }
        Ok(existing)
    }

    /// Returns documents after a row that have no vector of a model.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn documents_without_vector(
        &mut self,
        model: &str,
        after: i64,
        limit: i64,
    ) -> Result<Vec<EmbeddableText>, StoreError> {
        let existing = vectors::table.filter(vectors::hash.eq(documents::hash)).filter(vectors::model.eq(model));
        let some = documents::table
            .filter(documents::n.gt(after))
            .filter(diesel::dsl::not(diesel::dsl::exists(existing)))
            .order(documents::n)
            .limit(limit);
        let rows: Vec<(i64, Vec<u8>, String)> =
            some.select((documents::n, documents::hash, documents::content)).load(self.conn)?;
        rows.into_iter().map(|(n, hash, content)| Ok(EmbeddableText { n, hash: hash_of(n, &hash)?, content })).collect()
    }
}

impl NearestVectors for VectorSearch<'_, '_> {
    type Error = StoreError;

    fn nearest(
        &mut self,
        to: &[f32],
        among: &[blake3::Hash],
        least: f32,
        most: usize,
    ) -> Result<Vec<(usize, f32)>, StoreError> {
        let mut scored: Vec<(usize, f32)> = Vec::new();
        for (piece, hashes) in among.chunks(BATCH_SIZE).enumerate() {
            let named = vectors::table.filter(vectors::hash.eq_any(pad_hashes(hashes)));
            let some = named.filter(vectors::model.eq(self.model)).select((vectors::hash, vectors::vector));
            let found: HashMap<Vec<u8>, Vec<u8>> = prepared(some).load(self.reader.conn)?.into_iter().collect();
            for (at, hash) in hashes.iter().enumerate() {
                let near = found.get(hash.as_bytes().as_slice()).and_then(|bytes| similarity(to, &numbers(bytes)));
                scored.extend(near.map(|near| (piece * BATCH_SIZE + at, near)));
            }
        }
        Ok(top_scored(scored, least, most))
    }
}

pub(super) fn hash_of(n: i64, bytes: &[u8]) -> Result<blake3::Hash, StoreError> {
    blake3::Hash::from_slice(bytes).map_err(|_| StoreError::Inconsistent { table: "documents", column: "hash", row: n })
}

/// Pads hashes to the next power of two by repeating the last one, so that there are few different statements.
fn pad_hashes(hashes: &[blake3::Hash]) -> Vec<Vec<u8>> {
    let mut named: Vec<Vec<u8>> = hashes.iter().map(|hash| hash.as_bytes().to_vec()).collect();
    if let Some(last) = named.last().cloned() {
        named.resize(hashes.len().next_power_of_two(), last);
    }
    named
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect()
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

impl Tx<'_> {
    /// Stores vectors of texts that still exist. The first vector sets the number of dimensions of the model.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_vectors(&mut self, model: &str, batch: &EmbeddingBatch) -> Result<(), WriteError> {
        let size = batch.vectors.first().and_then(|(_, vector)| i32::try_from(vector.len()).ok());
        self.run(|conn| {
            if let Some(size) = size {
                set_vector_size(conn, model, size)?;
            }
            let rows: Vec<i64> = batch.nodes.iter().map(|(n, _)| *n).collect();
            let there: Vec<i64> = nodes::table.filter(nodes::n.eq_any(&rows)).select(nodes::n).load(conn)?;
            for (n, hash) in batch.nodes.iter().filter(|(n, _)| there.contains(n)) {
                let row = (embedded::node_n.eq(n), embedded::hash.eq(hash.as_bytes().to_vec()));
                diesel::delete(embedded::table.find(n)).execute(conn)?;
                diesel::insert_into(embedded::table).values(row).execute(conn)?;
            }
            for (hash, vector) in &batch.vectors {
                put(conn, model, hash.as_bytes(), &bytes(vector))?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Sets the log cursor of a model.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn set_embedding_cursor(&mut self, model: &str, cursor: i64) -> Result<(), WriteError> {
        self.run(|conn| {
            let moved = diesel::update(embedders::table.filter(embedders::model.eq(model)))
                .set(embedders::cursor.eq(cursor))
                .execute(conn)?;
            if moved == 0 {
                let row = (embedders::model.eq(model), embedders::size.eq(0), embedders::cursor.eq(cursor));
                diesel::insert_into(embedders::table).values(row).execute(conn)?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Sets the number of dimensions of a model, if it is not known yet.
fn set_vector_size(conn: &mut Conn, model: &str, size: i32) -> QueryResult<()> {
    let existing: Option<i32> =
        embedders::table.filter(embedders::model.eq(model)).select(embedders::size).get_result(conn).optional()?;
    match existing {
        None => {
            let row = (embedders::model.eq(model), embedders::size.eq(size), embedders::cursor.eq(0));
            diesel::insert_into(embedders::table).values(row).execute(conn)?;
        }
        Some(0) => {
            let own = embedders::table.filter(embedders::model.eq(model));
            diesel::update(own).set(embedders::size.eq(size)).execute(conn)?;
        }
        Some(_) => {}
    }
    Ok(())
}

/// Stores a vector if its text exists and has none.
fn put(conn: &mut Conn, model: &str, hash: &[u8], vector: &[u8]) -> QueryResult<()> {
    let same = vectors::table.filter(vectors::hash.eq(hash)).filter(vectors::model.eq(model));
    let is_there: bool = diesel::select(diesel::dsl::exists(same)).get_result(conn)?;
    if is_there || !is_text_stored(conn, hash)? {
        return Ok(());
    }
    let n: Option<i64> = vectors::table.select(diesel::dsl::max(vectors::n)).get_result(conn)?;
    let row = (
        vectors::n.eq(n.unwrap_or(0) + 1),
        vectors::model.eq(model),
        vectors::hash.eq(hash),
        vectors::vector.eq(vector),
    );
    diesel::insert_into(vectors::table).values(row).execute(conn)?;
    Ok(())
}

/// Returns whether a text with this hash exists.
fn is_text_stored(conn: &mut Conn, hash: &[u8]) -> QueryResult<bool> {
    let of_node = embedded::table.filter(embedded::hash.eq(hash));
    let of_document = documents::table.filter(documents::hash.eq(hash));
    let of_lore = lore_texts::table.filter(lore_texts::hash.eq(hash));
    Ok(diesel::select(diesel::dsl::exists(of_node)).get_result(conn)?
        || diesel::select(diesel::dsl::exists(of_document)).get_result(conn)?
        || diesel::select(diesel::dsl::exists(of_lore)).get_result(conn)?)
}

/// Deletes the vectors of nodes that are deleted.
pub(super) fn delete_for_nodes(conn: &mut Conn, rows: &[i64]) -> QueryResult<()> {
    let own = || embedded::table.filter(embedded::node_n.eq_any(rows));
    let hashes: Vec<Vec<u8>> = own().select(embedded::hash).load(conn)?;
    diesel::delete(own()).execute(conn)?;
    delete_vectors(conn, &hashes)
}

/// Deletes vectors of texts that no longer exist.
pub(super) fn delete_vectors(conn: &mut Conn, hashes: &[Vec<u8>]) -> QueryResult<()> {
    for hash in hashes {
        if !is_text_stored(conn, hash)? {
            diesel::delete(vectors::table.filter(vectors::hash.eq(hash))).execute(conn)?;
        }
    }
    Ok(())
}
