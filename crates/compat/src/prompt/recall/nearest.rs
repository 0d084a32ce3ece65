//! The interface to a vector index. The exact comparison with each candidate is the reference. Any other index behind
//! this trait must pass the same tests (`tests/it/http/vector_search.rs`).

/// Finds the nearest vectors; they are stored by the hashes of their texts.
pub trait NearestVectors {
    /// Error of the vector storage.
    type Error;

    /// Returns the nearest of the texts `among` to a vector of length 1, as index and similarity (-1 to 1), nearest
    /// first.
    ///
    /// At most `most` results, none below `least`. Texts without a vector, or with one of another size, are skipped. On
    /// a tie the earlier text comes first.
    ///
    /// # Errors
    /// Returns an error if the vector storage fails.
    fn nearest(
        &mut self,
        to: &[f32],
        among: &[blake3::Hash],
        least: f32,
        most: usize,
    ) -> Result<Vec<(usize, f32)>, Self::Error>;
}

/// Returns the similarity of two vectors of length 1, from -1 to 1; `None` if their sizes differ or the result is not
/// finite.
pub fn similarity(one: &[f32], other: &[f32]) -> Option<f32> {
    let sum: f32 = one.iter().zip(other).map(|(one, other)| one * other).sum();
    (one.len() == other.len() && sum.is_finite()).then_some(sum)
}

/// Returns the `most` best scores of at least `least`, best first; on a tie the lower index first.
pub fn top_scored(mut scored: Vec<(usize, f32)>, least: f32, most: usize) -> Vec<(usize, f32)> {
    scored.retain(|(_, score)| *score >= least);
    scored.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    scored.truncate(most);
    scored
}
