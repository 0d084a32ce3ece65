//! Reads an index without changing it; the doctor compares it with the tree.

use std::collections::HashMap;
use std::path::Path;

use super::disk::{self, catch_panic};
use super::schema;
use super::stored_fields::StoredFields;
use super::{IndexSource, SearchDocument, SearchError};
use clotho_core::ids::NodeId;

/// The contents of an index.
#[derive(Debug, Default)]
pub struct IndexContents {
    /// The cursor of the last commit.
    pub cursor: i64,
    /// A hash of the searchable content of each node.
    pub documents: HashMap<NodeId, u64>,
    /// The number of documents; larger than `documents` if a node has two.
    pub count: usize,
}

/// Reads every document. Returns `None` if there is no index or it has another format or source; the next start
/// rebuilds those.
///
/// # Errors
/// Returns an error if the files are damaged.
pub fn read_contents(folder: &Path, upstream: IndexSource) -> Result<Option<IndexContents>, SearchError> {
    // The folder may be deleted at any time; the next start rebuilds it.
    if !folder.exists() {
        return Ok(None);
    }
    catch_panic(|| {
        let Some(open) = disk::open_existing(folder, upstream)? else { return Ok(None) };
        if !disk::is_intact(&open.index)? {
            return Err(SearchError::Unreadable("the checksum of a file is wrong".to_owned()));
        }
        let searcher = open.reader.searcher();
        let mut contents = IndexContents { cursor: open.cursor, ..IndexContents::default() };
        for segment in searcher.segment_readers() {
            let store = segment.get_store_reader(1).map_err(tantivy::TantivyError::from)?;
            for stored in store.iter(segment.alive_bitset()) {
                let stored: StoredFields = stored?;
                contents.count += 1;
                contents.documents.insert(stored.node, content_hash(&stored.name, &stored.text, &stored.sum));
            }
        }
        Ok(Some(contents))
    })
}

/// Returns a hash of the searchable content of a document.
pub fn document_hash(document: &SearchDocument) -> u64 {
    content_hash(&document.name, &document.text, &schema::values_hash(&document.facts))
}

fn content_hash(name: &str, text: &str, sum: &[u8]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&name.len().to_le_bytes()).update(name.as_bytes());
    hasher.update(&text.len().to_le_bytes()).update(text.as_bytes()).update(sum);
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}
