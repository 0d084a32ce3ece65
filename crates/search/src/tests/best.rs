//! The ranking of hits, compared with a simple sort.

use proptest::prelude::*;

use super::*;

/// Messages that contain a word once, twice or not at all, in three commits, with repeated times.
fn random_documents(seed: u64) -> Vec<SearchDocument> {
    let mut random = clotho_core::clock::SplitMix64::new(seed);
    let mut next = |below: u64| random.next_u64() % below;
    let texts = ["lantern oil", "lantern lantern", "lanterns burn", "a ship of oak"];
    (1..=3_500_u128)
        .map(|n| {
            let text = texts.get(usize::try_from(next(4)).unwrap()).unwrap();
            // Mostly increasing times, as in a live session; some in random order, as after an import.
            let time = if next(10) == 0 { next(4_000) } else { u64::try_from(n).unwrap() / 2 };
            SearchDocument { time: Time(i64::try_from(time).unwrap()), ..document(n, text) }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Ranking is also right with removed hits, on late pages, and when all hits tie.
    #[test]
    fn search_best_hits_break_ties_by_time(
        seed in any::<u64>(), offset in 0_usize..2_000, limit in 1_usize..40,
        text in prop::sample::select(vec!["lantern", "lant*", "role:user", "lantern -burn", "lantern OR ship"]),
    ) {
        let index = new_index(manual_commit_settings());
        let all = random_documents(seed);
        for part in all.chunks(1_500) {
            put_documents(&index, part);
        }
        let from = index.cursor();
        index.send(from, (1..40).map(|n| IndexChange::Remove(node_id(n * 7))).collect(), from + 1).unwrap();
        index.flush().unwrap();
        let found = index.find(&request(text));
        let every = found.page(0, all.len()).unwrap();
        prop_assert_eq!(usize::try_from(every.total).unwrap(), every.hits.len());
        let is_ordered = |pair: &[SearchHit]| match pair {
            [one, next] => one.score > next.score || (one.score == next.score && one.time >= next.time),
            _ => true,
        };
        prop_assert!(every.hits.windows(2).all(is_ordered));
        let page = found.page(offset, limit).unwrap();
        let wanted: Vec<NodeId> = every.hits.iter().skip(offset).take(limit).map(|hit| hit.node).collect();
        let shown: Vec<NodeId> = page.hits.iter().map(|hit| hit.node).collect();
        prop_assert_eq!(shown, wanted);
        prop_assert_eq!(page.total, every.total);
    }
}
