//! Limits the cost of a scan. Books and stories are untrusted: a scan ends whatever they contain.

use clotho_core::stop_check::StopCheck;

use crate::prompt::js_regex::StepBudget;

use super::note::LoreNote;

/// Bytes compared in one scan: a fraction of a second. Real books stay below a thousandth of it.
const MAX_BYTES: usize = 512 << 20;
/// Regex steps of all patterns together: some tenths of a second. A single runaway pattern has a much lower limit.
const MAX_STEPS: usize = 50_000_000;
/// Passes in one scan. `min activations` takes two for each older message, of at most a thousand.
const MAX_PASSES: usize = 4_000;

/// The remaining budget of a scan.
#[derive(Debug, Clone)]
pub struct ScanBudget {
    bytes: StepBudget,
    steps: StepBudget,
    passes: usize,
    stop: StopCheck,
    /// Messages to the user about aborted work.
    pub notes: Vec<LoreNote>,
}

impl ScanBudget {
    /// Creates the full budget. It is used up as soon as `stop` is set.
    pub fn new(stop: StopCheck) -> Self {
        let full = |most| StepBudget::new(most).until(stop.clone());
        Self { bytes: full(MAX_BYTES), steps: full(MAX_STEPS), passes: MAX_PASSES, stop, notes: Vec::new() }
    }

    /// Returns whether nobody wants the result of the scan any more.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Takes bytes to compare; returns whether there were enough.
    pub fn spend_bytes(&mut self, bytes: usize) -> bool {
        Self::spend(&mut self.bytes, bytes, &mut self.notes, LoreNote::TooManyKeys {})
    }

    /// Returns the step budget for one pattern on a text of `units` UTF-16 units; `None` if none is left.
    pub fn step_budget(&mut self, units: usize) -> Option<StepBudget> {
        // A pattern that fails at once still has to convert the text.
        let left =
            Self::spend(&mut self.steps, units.saturating_add(64), &mut self.notes, LoreNote::TooManyPatterns {});
        left.then(|| self.steps.part(StepBudget::for_text(units).remaining()))
    }

    /// Takes used steps from the budget.
    pub fn spend_steps(&mut self, steps: usize) {
        // Whoever needs more finds none left.
        let _ = self.steps.spend(steps);
    }

    /// Takes a pass; returns whether there was one left.
    pub fn spend_pass(&mut self) -> bool {
        let rest = self.passes.checked_sub(1);
        self.passes = rest.unwrap_or(0);
        if rest.is_none() {
            self.note(LoreNote::EndlessActivation {});
        }
        rest.is_some() && !self.is_stopped()
    }

    fn spend(left: &mut StepBudget, cost: usize, notes: &mut Vec<LoreNote>, note: LoreNote) -> bool {
        let is_enough = left.spend(cost).is_ok();
        if !is_enough {
            Self::push_note(notes, note);
        }
        is_enough
    }

    /// Adds a note, unless it is there already or the list is full.
    fn push_note(notes: &mut Vec<LoreNote>, note: LoreNote) {
        if !notes.contains(&note) && notes.len() < MAX_NOTES {
            notes.push(note);
        }
    }

    /// Adds a note, unless it is there already or the list is full.
    pub fn note(&mut self, note: LoreNote) {
        Self::push_note(&mut self.notes, note);
    }
}

/// Largest number of notes.
pub const MAX_NOTES: usize = 50;
