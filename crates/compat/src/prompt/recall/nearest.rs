//! Who finds the nearest vectors. Exact comparison with each candidate is the reference; another index may take its
//! place behind the same trait, and has to pass the same tests (`tests/it/http/nearest.rs`).

/// Vectors of texts, by the hashes of those.
pub trait NearestVectors {
    /// How it fails.
    type Error;

    /// The nearest of these texts to a vector of length 1, the nearest first: the place of each among them, and how
    /// near it is, from -1 to 1. At most so many, none farther than `least`. What has no vector, or one of another
    /// size, is left out. Of two that are equally near the one that is named first comes first.
    ///
    /// # Errors
    /// Where the vectors are kept fails.
    fn nearest(
        &mut self,
        to: &[f32],
        among: &[blake3::Hash],
        least: f32,
        most: usize,
    ) -> Result<Vec<(usize, f32)>, Self::Error>;
}

/// How near two vectors of length 1 are, from -1 to 1; `None` where they have not the same size, or the answer is no
/// number.
pub fn similarity(one: &[f32], other: &[f32]) -> Option<f32> {
    let sum: f32 = one.iter().zip(other).map(|(one, other)| one * other).sum();
    (one.len() == other.len() && sum.is_finite()).then_some(sum)
}

/// The best of what was scored, the best first; of equals the first. None below `least`.
pub fn top_scored(mut scored: Vec<(usize, f32)>, least: f32, most: usize) -> Vec<(usize, f32)> {
    scored.retain(|(_, score)| *score >= least);
    scored.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    scored.truncate(most);
    scored
}
