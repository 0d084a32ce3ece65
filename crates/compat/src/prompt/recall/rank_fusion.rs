//! Merges several rankings.

use std::collections::BTreeMap;

/// Constant of reciprocal rank fusion (the usual value). It is so large that agreement of two rankings counts more than
/// a first place in one.
const RANK_CONSTANT: f32 = 60.0;

/// Merges rankings into one, best first; on a tie the lower index first.
pub fn reciprocal_rank_fusion(lists: &[Vec<(usize, f32)>]) -> Vec<(usize, f32)> {
    let mut scores: BTreeMap<usize, f32> = BTreeMap::new();
    for list in lists {
        let mut rank = RANK_CONSTANT;
        for (place, _) in list {
            rank += 1.0;
            *scores.entry(*place).or_default() += 1.0 / rank;
        }
    }
    super::top_scored(scores.into_iter().collect(), 0.0, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_fusion_shared_hits_rank_first() {
        let places = |lists: &[Vec<(usize, f32)>]| {
            reciprocal_rank_fusion(lists).into_iter().map(|(at, _)| at).collect::<Vec<_>>()
        };
        let (words, vectors) = (vec![(4, 9.0), (2, 8.0), (7, 1.0)], vec![(9, 0.9), (2, 0.8)]);
        assert_eq!(places(&[words.clone(), vectors]), [2, 4, 9, 7]);
        assert_eq!(places(&[words, Vec::new()]), [4, 2, 7]);
        assert_eq!(places(&[]), Vec::<usize>::new());
    }
}
