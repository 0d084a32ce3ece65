//! The token budget of a request.

use crate::prompt::{PromptTokenLimits, TokenOverflow};

/// Tokens that a request takes besides its messages.
const REQUEST_OVERHEAD: usize = 3;

/// The token budget of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptBudget {
    all: usize,
    spent: usize,
    /// Reserved tokens; already subtracted from `all`.
    reserved: usize,
}

impl PromptBudget {
    pub(super) const fn new(limits: PromptTokenLimits) -> Self {
        Self { all: limits.prompt().saturating_sub(REQUEST_OVERHEAD), spent: 0, reserved: 0 }
    }

    /// Spends tokens of a mandatory text, even over budget.
    pub(super) const fn spend(&mut self, tokens: usize) {
        self.spent = self.spent.saturating_add(tokens);
    }

    /// Spends tokens if they fit; returns whether they did.
    pub(super) const fn try_take(&mut self, tokens: usize) -> bool {
        let fits = self.spent.saturating_add(tokens) <= self.all;
        if fits {
            self.spent += tokens;
        }
        fits
    }

    /// Reserves tokens for something else, at most what is left after mandatory texts of `beside` tokens.
    pub(super) fn reserve(&mut self, wanted: usize, beside: usize) {
        let all = self.all.saturating_add(self.reserved);
        let left = all.saturating_sub(self.spent).saturating_sub(beside);
        self.reserved = wanted.min(left);
        self.all = all - self.reserved;
    }

    /// Returns the reserved tokens.
    pub(super) const fn reserved(&self) -> usize {
        self.reserved
    }

    /// Returns the budget reduced by so many tokens.
    pub(super) fn with_reserve(self, tokens: usize) -> Self {
        Self { all: self.all.saturating_sub(tokens), ..self }
    }

    /// Returns the budget limited to so many further tokens.
    pub(super) fn with_cap(self, tokens: usize) -> Self {
        Self { all: self.all.min(self.spent.saturating_add(tokens)), ..self }
    }

    /// Returns the tokens of the whole budget.
    pub(super) const fn total(&self) -> usize {
        self.all
    }

    /// Returns spent tokens to the budget.
    pub(super) const fn give_back(&mut self, tokens: usize) {
        self.spent = self.spent.saturating_sub(tokens);
    }

    /// Returns whether less than half would be spent without so many tokens.
    pub(super) const fn is_under_half_without(&self, tokens: usize) -> bool {
        self.spent.saturating_sub(tokens) < self.all / 2
    }

    /// Returns whether more than three quarters are spent.
    pub(super) const fn is_mostly_used(&self) -> bool {
        self.spent > self.all / 4 * 3
    }

    /// Returns the spent tokens.
    pub(super) const fn spent(&self) -> usize {
        self.spent
    }

    /// Returns an error if the mandatory texts exceed the budget.
    pub(super) const fn check(&self) -> Result<(), TokenOverflow> {
        if self.spent > self.all { Err(TokenOverflow { needed: self.spent, budget: self.all }) } else { Ok(()) }
    }
}
