//! How much looking one scan may cost. Books and stories come from strangers: whatever they hold, a scan ends.

use crate::prompt::js_regex::StepBudget;

/// Bytes that may be compared in one scan: a fraction of a second. Real books stay below a thousandth of it.
const MAX_BYTES: usize = 512 << 20;
/// Steps that all patterns may take together: some tenths of a second. One that runs away ends much earlier by itself.
const MAX_STEPS: usize = 50_000_000;
/// Passes over the books in one scan. `min activations` takes two for each message it goes back, at most a thousand.
const MAX_PASSES: usize = 4_000;

/// What is left of it, and what ran out.
#[derive(Debug, Clone)]
pub struct ScanBudget {
    bytes: usize,
    steps: usize,
    passes: usize,
    /// What had to be given up, in words for the user.
    pub notes: Vec<String>,
}

impl ScanBudget {
    /// All of it.
    pub const fn new() -> Self {
        Self { bytes: MAX_BYTES, steps: MAX_STEPS, passes: MAX_PASSES, notes: Vec::new() }
    }

    /// Whether so many bytes more may be compared.
    pub fn spend_bytes(&mut self, bytes: usize) -> bool {
        Self::spend(&mut self.bytes, bytes, &mut self.notes, "the books have too much to look for in a story this long")
    }

    /// The steps that one use of a pattern on a text of this size (in UTF-16 units) may take; `None` = there are none
    /// left.
    pub fn step_budget(&mut self, units: usize) -> Option<StepBudget> {
        // Even a pattern that ends at once costs a walk through the text.
        let left = Self::spend(&mut self.steps, units.saturating_add(64), &mut self.notes, TOO_MANY_PATTERNS);
        left.then(|| StepBudget::new(StepBudget::for_text(units).left().min(self.steps)))
    }

    /// So many were taken.
    pub fn spend_steps(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }

    /// Whether there may be one more pass.
    pub fn spend_pass(&mut self) -> bool {
        Self::spend(&mut self.passes, 1, &mut self.notes, "the entries call each other up without end")
    }

    fn spend(left: &mut usize, cost: usize, notes: &mut Vec<String>, note: &str) -> bool {
        let rest = left.checked_sub(cost);
        *left = rest.unwrap_or(0);
        if rest.is_none() {
            Self::push_note(notes, note);
        }
        rest.is_some()
    }

    /// Notes something once.
    pub fn push_note(notes: &mut Vec<String>, note: &str) {
        if !notes.iter().any(|said| said == note) && notes.len() < MAX_NOTES {
            notes.push(note.to_owned());
        }
    }

    /// Notes something once.
    pub fn note(&mut self, note: &str) {
        Self::push_note(&mut self.notes, note);
    }
}

const TOO_MANY_PATTERNS: &str = "the books have too many patterns to look for";
/// More notes than this help nobody.
pub const MAX_NOTES: usize = 50;
