//! What a request has room for.

use crate::prompt::TokenOverflow;

/// Tokens that a request takes beside its messages.
const REQUEST_OVERHEAD: usize = 3;

/// The room that is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptBudget {
    all: usize,
    spent: usize,
    /// What is kept free of all that there would be.
    reserved: usize,
}

impl PromptBudget {
    pub(super) const fn new((context, reply): (usize, usize)) -> Self {
        Self { all: context.saturating_sub(reply).saturating_sub(REQUEST_OVERHEAD), spent: 0, reserved: 0 }
    }

    /// Takes what has to go.
    pub(super) const fn spend(&mut self, tokens: usize) {
        self.spent = self.spent.saturating_add(tokens);
    }

    /// Takes so much, if it is there.
    pub(super) const fn try_take(&mut self, tokens: usize) -> bool {
        let fits = self.spent.saturating_add(tokens) <= self.all;
        if fits {
            self.spent += tokens;
        }
        fits
    }

    /// Keeps so much free for something else, and no more than is left beside what is to go in any case.
    pub(super) fn reserve(&mut self, wanted: usize, beside: usize) {
        let all = self.all.saturating_add(self.reserved);
        let left = all.saturating_sub(self.spent).saturating_sub(beside);
        self.reserved = wanted.min(left);
        self.all = all - self.reserved;
    }

    /// Tokens that are kept free.
    pub(super) const fn reserved(&self) -> usize {
        self.reserved
    }

    /// The same room with so many tokens of it kept free for something else.
    pub(super) fn with_reserve(self, tokens: usize) -> Self {
        Self { all: self.all.saturating_sub(tokens), ..self }
    }

    /// The same room where no more than so many are taken from now on.
    pub(super) fn with_cap(self, tokens: usize) -> Self {
        Self { all: self.all.min(self.spent.saturating_add(tokens)), ..self }
    }

    /// Tokens of all of it.
    pub(super) const fn total(&self) -> usize {
        self.all
    }

    /// Gives back what does not go after all.
    pub(super) const fn give_back(&mut self, tokens: usize) {
        self.spent = self.spent.saturating_sub(tokens);
    }

    /// Whether less than half would be taken without so many tokens.
    pub(super) const fn is_under_half_without(&self, tokens: usize) -> bool {
        self.spent.saturating_sub(tokens) < self.all / 2
    }

    /// Whether more than three quarters are taken.
    pub(super) const fn is_mostly_used(&self) -> bool {
        self.spent > self.all / 4 * 3
    }

    /// Tokens taken.
    pub(super) const fn spent(&self) -> usize {
        self.spent
    }

    /// Whether what has to go does.
    pub(super) const fn check(&self) -> Result<(), TokenOverflow> {
        if self.spent > self.all { Err(TokenOverflow { needed: self.spent, budget: self.all }) } else { Ok(()) }
    }
}
