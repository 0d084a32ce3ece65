//! S0-57: vector storage is replaceable. Every implementation must keep the promises of [`NearestVectors`]: the store,
//! which compares all vectors, and a plain list in memory. Add another index in [`everybody`].

use std::collections::HashMap;

use clotho_compat::prompt::recall::{NearestVectors, similarity, top_scored};
use clotho_store::{EmbeddingBatch, StoreError};

use crate::support::test_store::TestStore;

/// Vectors with their names.
type NamedVectors<'a> = [(&'a str, Vec<f32>)];

fn hash_name(name: &str) -> blake3::Hash {
    blake3::hash(name.as_bytes())
}

/// A plain list in memory.
struct MemoryVectors(HashMap<blake3::Hash, Vec<f32>>);

impl NearestVectors for MemoryVectors {
    type Error = StoreError;

    fn nearest(
        &mut self,
        to: &[f32],
        among: &[blake3::Hash],
        least: f32,
        most: usize,
    ) -> Result<Vec<(usize, f32)>, StoreError> {
        let near = |(at, hash): (usize, &blake3::Hash)| Some((at, similarity(to, self.0.get(hash)?)?));
        Ok(top_scored(among.iter().enumerate().filter_map(near).collect(), least, most))
    }
}

/// Asks each implementation with these vectors and returns the answer, on which all must agree.
fn nearest_in_every_store(
    vectors: &NamedVectors<'_>,
    to: &[f32],
    among: &[&str],
    least: f32,
    most: usize,
) -> Vec<usize> {
    let among: Vec<blake3::Hash> = among.iter().map(|name| hash_name(name)).collect();
    let named: Vec<(blake3::Hash, Vec<f32>)> =
        vectors.iter().map(|(name, one)| (hash_name(name), one.clone())).collect();
    let mut plain = MemoryVectors(named.iter().cloned().collect());
    let expected = plain.nearest(to, &among, least, most).unwrap();
    let store = TestStore::new();
    let begun = store.create_session(Default::default(), None, &["Welcome."]);
    let greeting = store.read(move |reader| {
        let held = reader.any_session(begun.session)?.unwrap();
        Ok::<_, StoreError>(reader.node(&held, begun.greetings[0])?.unwrap().n)
    });
    for one in named {
        let made = EmbeddingBatch { nodes: vec![(greeting, one.0)], vectors: vec![one] };
        store.write(move |tx| tx.put_vectors("m", &made)).unwrap();
    }
    let to = to.to_vec();
    let found = store.read(move |reader| reader.vectors("m").nearest(&to, &among, least, most));
    assert_eq!(found, expected);
    found.into_iter().map(|(at, _)| at).collect()
}

#[test]
fn vector_search_sorts_by_similarity() {
    let vectors = [("east", vec![1.0, 0.0]), ("north", vec![0.0, 1.0]), ("between", vec![0.6, 0.8])];
    let all = ["east", "north", "between"];
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &all, -1.0, 9), [0, 2, 1]);
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &all, 0.5, 9), [0, 2], "none that is too far");
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &all, -1.0, 1), [0], "so many at most");
    assert_eq!(nearest_in_every_store(&vectors, &[-1.0, 0.0], &all, -1.0, 9), [1, 2, 0]);
}

/// Only listed candidates are searched: the best vector is not found if it is not listed.
#[test]
fn vector_search_returns_only_listed_candidates() {
    let vectors = [("best", vec![1.0, 0.0]), ("poor", vec![0.0, 1.0])];
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &["poor"], -1.0, 9), [0]);
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &[], -1.0, 9), Vec::<usize>::new());
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &["unknown", "best"], -1.0, 9), [1]);
}

#[test]
fn vector_search_keeps_ties_and_skips_other_dimensions() {
    let vectors = [("a", vec![1.0, 0.0]), ("b", vec![1.0, 0.0]), ("short", vec![1.0]), ("long", vec![1.0, 0.0, 0.0])];
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &["b", "short", "a", "long"], -1.0, 9), [0, 2]);
    assert_eq!(nearest_in_every_store(&vectors, &[1.0], &["b", "short"], -1.0, 9), [1]);
}

/// More candidates than are read at once, in any order.
#[test]
fn vector_search_over_600_candidates_returns_top_matches() {
    let angle = |n: u16| f32::from(n) / 700.0;
    let names: Vec<String> = (0..600_u16).map(|n| n.to_string()).collect();
    let vectors: Vec<(&str, Vec<f32>)> =
        names.iter().zip(0..).map(|(name, n)| (name.as_str(), vec![angle(n).cos(), angle(n).sin()])).collect();
    let among: Vec<&str> = names.iter().rev().map(String::as_str).collect();
    assert_eq!(nearest_in_every_store(&vectors, &[1.0, 0.0], &among, -1.0, 3), [599, 598, 597]);
}
