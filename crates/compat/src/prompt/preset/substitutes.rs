//! The token budget of the texts that stand for cut messages: summaries and recalled texts.

/// The tokens of summaries and recalled texts: at most so many of each kind, and of both together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubstituteBudget {
    summaries: usize,
    recall: usize,
    total: usize,
}

impl SubstituteBudget {
    /// Creates a budget in which each kind may take its tokens.
    pub const fn new(summaries: usize, recall: usize) -> Self {
        Self { summaries, recall, total: summaries.saturating_add(recall) }
    }

    /// Limits both kinds together to what a prompt has reserved.
    #[must_use]
    pub fn within(self, reserved: usize) -> Self {
        Self { total: self.total.min(reserved), ..self }
    }

    /// Returns the tokens of summaries, which take theirs first.
    pub fn for_summaries(self) -> usize {
        self.summaries.min(self.total)
    }

    /// Returns the largest number of tokens of recalled texts.
    pub const fn max_recall(self) -> usize {
        self.recall
    }

    /// Returns the tokens of recalled texts, if summaries took so many.
    pub fn for_recall(self, summaries: usize) -> usize {
        self.recall.min(self.total.saturating_sub(summaries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitute_budget_gives_summaries_first() {
        let check = |budget: SubstituteBudget, summaries: usize, expected: (usize, usize)| {
            assert_eq!((budget.for_summaries(), budget.for_recall(summaries)), expected, "{budget:?}");
        };
        let budget = SubstituteBudget::new(30, 20);
        check(budget, 30, (30, 20));
        check(budget, 0, (30, 20));
        check(budget.within(40), 30, (30, 10));
        check(budget.within(25), 25, (25, 0));
        check(budget.within(25), 10, (25, 15));
        check(budget.within(90), 90, (30, 0));
    }
}
