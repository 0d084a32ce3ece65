//! The shares of a prompt for lore, examples and recalled texts, and the share reserved for the history.

/// Shares of a prompt in percent; `None` = no limit. Mandatory texts are not limited: parts with their own text, card,
/// persona and the newest message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptShares {
    /// Limit for lore.
    pub lore: Option<usize>,
    /// Limit for examples.
    pub examples: Option<usize>,
    /// Limit for recalled texts.
    pub recalled: Option<usize>,
    /// Share that the others leave to the history.
    pub history: Option<usize>,
}

impl PromptShares {
    /// Returns the token limit for recalled texts in a prompt of `prompt` tokens.
    pub fn for_recalled(&self, prompt: usize) -> usize {
        most(self.recalled, prompt).min(self.outside_history(prompt))
    }

    /// Returns the token limit for lore, if `recalled` tokens are reserved for recalled texts.
    pub fn for_lore(&self, prompt: usize, recalled: usize) -> usize {
        most(self.lore, prompt).min(self.outside_history(prompt).saturating_sub(recalled))
    }

    /// Returns the token limit for examples.
    pub fn for_examples(&self, prompt: usize) -> usize {
        most(self.examples, prompt)
    }

    /// Returns the tokens reserved for the history, if the preset sets them.
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
