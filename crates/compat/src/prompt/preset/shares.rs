//! How much of a prompt lore, examples and what is recalled may take, and what they leave to the history.

/// Parts of a prompt in percent of it; `None` = as where no preset says anything. What has to go (the parts with texts of
/// their own, card and persona, the newest message) keeps to none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptShares {
    /// The most for lore.
    pub lore: Option<usize>,
    /// The most for examples.
    pub examples: Option<usize>,
    /// The most for what is recalled.
    pub recalled: Option<usize>,
    /// What the three of them leave to the history together.
    pub history: Option<usize>,
}

impl PromptShares {
    /// The most tokens that what is recalled takes of a prompt of so many.
    pub fn for_recalled(&self, prompt: usize) -> usize {
        most(self.recalled, prompt).min(self.outside_history(prompt))
    }

    /// The most tokens for lore, where so many are kept for what is recalled.
    pub fn for_lore(&self, prompt: usize, recalled: usize) -> usize {
        most(self.lore, prompt).min(self.outside_history(prompt).saturating_sub(recalled))
    }

    /// The most tokens for examples.
    pub fn for_examples(&self, prompt: usize) -> usize {
        most(self.examples, prompt)
    }

    /// Tokens that examples leave to the history, if that is said.
    pub fn for_history(&self, prompt: usize) -> Option<usize> {
        self.history.map(|percent| percent_of(percent, prompt))
    }

    fn outside_history(&self, prompt: usize) -> usize {
        self.for_history(prompt).map_or(usize::MAX, |kept| prompt.saturating_sub(kept))
    }
}

fn most(percent: Option<usize>, prompt: usize) -> usize {
    percent.map_or(usize::MAX, |percent| percent_of(percent, prompt))
}

fn percent_of(percent: usize, prompt: usize) -> usize {
    prompt.saturating_mul(percent.min(100)) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_shares_are_percentages_of_prompt() {
        let none = PromptShares::default();
        assert_eq!(
            (none.for_lore(1000, 0), none.for_recalled(1000), none.for_history(1000)),
            (usize::MAX, usize::MAX, None)
        );
        let shares = PromptShares { lore: Some(40), examples: Some(10), recalled: Some(30), history: Some(50) };
        assert_eq!((shares.for_recalled(1000), shares.for_lore(1000, 300)), (300, 200), "half is the history's");
        assert_eq!((shares.for_lore(1000, 0), shares.for_examples(1000)), (400, 100));
        let all = PromptShares { history: Some(100), ..none };
        assert_eq!((all.for_lore(1000, 0), all.for_recalled(1000)), (0, 0));
    }
}
