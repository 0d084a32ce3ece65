//! What embeddings made of texts: a vector for each text and model, found by the text's hash, so that equal texts are
//! embedded once. All of it is derived and may be deleted; what is destroyed takes its vector along.

use std::collections::{HashMap, HashSet};

use diesel::prelude::*;

use clotho_compat::prompt::recall::{NearestVectors, similarity, top_scored};

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::prepared::prepared;
use super::read::StoreReader;
use super::tables::{documents, embedded, embedders, lore_texts, nodes, vectors};
use super::tx::Tx;

/// So many hashes are named in one statement.
const BATCH_SIZE: usize = 256;

/// How far a model of embeddings got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingProgress {
    /// Numbers of its vectors.
    pub size: usize,
    /// Where it stands in the log.
    pub cursor: i64,
}

/// What a text is ranked by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddableText {
    /// Its row.
    pub n: i64,
    /// The hash of what is embedded of it.
    pub hash: blake3::Hash,
    /// The text.
    pub content: String,
}

/// What became of some texts.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingBatch {
    /// The vectors, by the hashes of their texts.
    pub vectors: Vec<(blake3::Hash, Vec<f32>)>,
    /// The rows of nodes whose texts these are.
    pub nodes: Vec<(i64, blake3::Hash)>,
}

/// The vectors of one model, compared with each that is asked for: the exact [`NearestVectors`].
pub struct VectorSearch<'r, 'c> {
    reader: &'r mut StoreReader<'c>,
    model: &'r str,
}

impl<'c> StoreReader<'c> {
    /// The vectors of a model.
    pub fn vectors<'r>(&'r mut self, model: &'r str) -> VectorSearch<'r, 'c> {
        VectorSearch { reader: self, model }
    }

    /// How far a model got; `None` where it has done nothing yet.
    ///
    /// # Errors
    /// The database fails.
    pub fn embedding_progress(&mut self, model: &str) -> Result<Option<EmbeddingProgress>, StoreError> {
        let row: Option<(i32, i64)> =
            prepared(embedders::table.filter(embedders::model.eq(model)).select((embedders::size, embedders::cursor)))
                .get_result(self.conn)
                .optional()?;
        Ok(row.map(|(size, cursor)| EmbeddingProgress { size: usize::try_from(size).unwrap_or(0), cursor }))
    }

    /// Which of these texts have a vector of a model.
    ///
    /// # Errors
    /// The database fails.
    pub fn have_vectors(&mut self, model: &str, hashes: &[blake3::Hash]) -> Result<HashSet<blake3::Hash>, StoreError> {
        let mut known = HashSet::new();
        for piece in hashes.chunks(BATCH_SIZE) {
            let named: Vec<Vec<u8>> = pad_hashes(piece);
            let some = vectors::table.filter(vectors::hash.eq_any(named)).filter(vectors::model.eq(model));
            for hash in prepared(some.select(vectors::hash)).load::<Vec<u8>>(self.conn)? {
                known.insert(hash_of(0, &hash)?);
            }
        }
        Ok(known)
    }

    /// Documents that have no vector of a model, after a row.
    ///
    /// # Errors
    /// The database fails or a row is damaged.
    pub fn documents_without_vector(
        &mut self,
        model: &str,
        after: i64,
        limit: i64,
    ) -> Result<Vec<EmbeddableText>, StoreError> {
        let made = vectors::table.filter(vectors::hash.eq(documents::hash)).filter(vectors::model.eq(model));
        let some = documents::table
            .filter(documents::n.gt(after))
            .filter(diesel::dsl::not(diesel::dsl::exists(made)))
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

/// Names of one of few lengths, the last one repeated: so there are few statements.
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
    /// Keeps what a model made of texts, as far as those are still there. The first vector says how many numbers all
    /// have.
    ///
    /// # Errors
    /// The database fails.
    pub fn put_vectors(&mut self, model: &str, made: &EmbeddingBatch) -> Result<(), WriteError> {
        let size = made.vectors.first().and_then(|(_, vector)| i32::try_from(vector.len()).ok());
        self.run(|conn| {
            if let Some(size) = size {
                set_vector_size(conn, model, size)?;
            }
            let rows: Vec<i64> = made.nodes.iter().map(|(n, _)| *n).collect();
            let there: Vec<i64> = nodes::table.filter(nodes::n.eq_any(&rows)).select(nodes::n).load(conn)?;
            for (n, hash) in made.nodes.iter().filter(|(n, _)| there.contains(n)) {
                let row = (embedded::node_n.eq(n), embedded::hash.eq(hash.as_bytes().to_vec()));
                diesel::delete(embedded::table.find(n)).execute(conn)?;
                diesel::insert_into(embedded::table).values(row).execute(conn)?;
            }
            for (hash, vector) in &made.vectors {
                put(conn, model, hash.as_bytes(), &bytes(vector))?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Notes how far in the log a model got.
    ///
    /// # Errors
    /// The database fails.
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

/// Notes how many numbers the vectors of a model have, where that is not known yet.
fn set_vector_size(conn: &mut Conn, model: &str, size: i32) -> QueryResult<()> {
    let known: Option<i32> =
        embedders::table.filter(embedders::model.eq(model)).select(embedders::size).get_result(conn).optional()?;
    match known {
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

/// Keeps a vector of a text that is there, once.
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

/// Whether a text of that hash is there.
fn is_text_stored(conn: &mut Conn, hash: &[u8]) -> QueryResult<bool> {
    let of_node = embedded::table.filter(embedded::hash.eq(hash));
    let of_document = documents::table.filter(documents::hash.eq(hash));
    let of_lore = lore_texts::table.filter(lore_texts::hash.eq(hash));
    Ok(diesel::select(diesel::dsl::exists(of_node)).get_result(conn)?
        || diesel::select(diesel::dsl::exists(of_document)).get_result(conn)?
        || diesel::select(diesel::dsl::exists(of_lore)).get_result(conn)?)
}

/// Forgets what was made of the texts of nodes that are destroyed.
pub(super) fn delete_for_nodes(conn: &mut Conn, rows: &[i64]) -> QueryResult<()> {
    let own = || embedded::table.filter(embedded::node_n.eq_any(rows));
    let hashes: Vec<Vec<u8>> = own().select(embedded::hash).load(conn)?;
    diesel::delete(own()).execute(conn)?;
    delete_vectors(conn, &hashes)
}

/// Forgets the vectors of texts that are nowhere any more.
pub(super) fn delete_vectors(conn: &mut Conn, hashes: &[Vec<u8>]) -> QueryResult<()> {
    for hash in hashes {
        if !is_text_stored(conn, hash)? {
            diesel::delete(vectors::table.filter(vectors::hash.eq(hash))).execute(conn)?;
        }
    }
    Ok(())
}
