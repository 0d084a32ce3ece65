//! Runs a program over a text and counts its steps.
//!
//! It tries alternatives in JavaScript's order. Its backtracking stack is a list on the heap, so no text or pattern
//! causes deep recursion. Each step is charged to the budget, so every run ends.

use super::program::{RegexInstruction, RegexProgram};
use super::set::{to_lower, to_upper};
use super::syntax::{RegexModes, RegexQuantifier};
use super::{StepBudget, StepLimitError};

/// A position that is not set.
pub(super) const UNSET: usize = usize::MAX;

/// An entry of the backtracking stack.
#[derive(Debug, Clone, Copy)]
enum BacktrackFrame {
    /// Another alternative to try.
    Alternative { step: usize, at: usize },
    /// The previous value of a slot.
    Slot { slot: usize, was: usize },
    /// The previous state of a loop.
    Loop { reg: usize, was: LoopState },
    /// A greedy run that may give back characters, down to `least`.
    FewerRepeats { step: usize, at: usize, least: usize, back: bool },
    /// A lazy run that may take more characters.
    MoreRepeats { step: usize, set: usize, at: usize, left: Option<u32>, back: bool },
    /// The start of a lookaround.
    Lookaround { exit: usize, at: usize, negated: bool },
}

/// The state of a loop: its iteration count, and where the current iteration began.
#[derive(Debug, Clone, Copy)]
struct LoopState {
    count: u32,
    began: usize,
}

/// What to do after a step.
enum NextStep {
    Step(usize),
    Fail,
    Found,
}

/// Runs a program over one text.
pub(super) struct RegexMachine<'a> {
    program: &'a RegexProgram,
    modes: RegexModes,
    units: &'a [u16],
    at: usize,
    pub(super) slots: Vec<usize>,
    rounds: Vec<LoopState>,
    frames: Vec<BacktrackFrame>,
}

impl<'a> RegexMachine<'a> {
    /// A machine at the start of a text, which is given in UTF-16 units.
    pub fn new(program: &'a RegexProgram, modes: RegexModes, units: &'a [u16]) -> Self {
        let rounds = vec![LoopState { count: 0, began: UNSET }; program.loops];
        Self { program, modes, units, at: 0, slots: vec![UNSET; program.slots], rounds, frames: Vec::new() }
    }

    /// Returns whether a match begins at `start`. The positions of the match and its groups are then in `slots`.
    pub fn match_at(&mut self, start: usize, steps: &mut StepBudget) -> Result<bool, StepLimitError> {
        self.slots.fill(UNSET);
        self.frames.clear();
        self.at = start;
        let mut pc = 0;
        loop {
            steps.spend(1)?;
            let next = match self.program.steps.get(pc) {
                Some(step) => self.step(pc, step, steps)?,
                None => NextStep::Fail,
            };
            pc = match next {
                NextStep::Step(pc) => pc,
                NextStep::Found => break,
                NextStep::Fail => match self.backtrack(steps)? {
                    Some(pc) => pc,
                    None => return Ok(false),
                },
            };
        }
        for (slot, place) in self.slots.iter_mut().zip([start, self.at]) {
            *slot = place;
        }
        Ok(true)
    }

    fn step(&mut self, pc: usize, step: &RegexInstruction, steps: &mut StepBudget) -> Result<NextStep, StepLimitError> {
        let on = |is: bool| if is { NextStep::Step(pc + 1) } else { NextStep::Fail };
        Ok(match step {
            RegexInstruction::Set { set, back } => match self.match_set(*set, self.at, *back) {
                Some(at) => {
                    self.at = at;
                    NextStep::Step(pc + 1)
                }
                None => NextStep::Fail,
            },
            RegexInstruction::Run { set, quantifier, back } => {
                on(self.match_run(pc, *set, *quantifier, *back, steps)?)
            }
            RegexInstruction::Jump(to) => NextStep::Step(*to),
            RegexInstruction::Split { other } => {
                self.frames.push(BacktrackFrame::Alternative { step: *other, at: self.at });
                NextStep::Step(pc + 1)
            }
            RegexInstruction::Save(slot) => {
                self.save_slot(*slot, self.at);
                NextStep::Step(pc + 1)
            }
            RegexInstruction::LoopStart { reg } => {
                self.count(*reg, LoopState { count: 0, began: UNSET });
                NextStep::Step(pc + 1)
            }
            RegexInstruction::LoopTest { reg, quantifier, exit } => self.loop_test(pc, *reg, *quantifier, *exit),
            RegexInstruction::LoopEnter { reg, groups } => {
                steps.spend(groups.len())?;
                (2 * groups.start..2 * groups.end).for_each(|slot| self.save_slot(slot, UNSET));
                let count = self.loop_state(*reg).count.saturating_add(1);
                self.count(*reg, LoopState { count, began: self.at });
                NextStep::Step(pc + 1)
            }
            RegexInstruction::LoopEnd { reg, min, test } => {
                let round = self.loop_state(*reg);
                // An iteration beyond the minimum must not match the empty string.
                if round.count > *min && round.began == self.at { NextStep::Fail } else { NextStep::Step(*test) }
            }
            RegexInstruction::Start { by_line } => on(self.is_start(*by_line)),
            RegexInstruction::End { by_line } => on(self.is_end(*by_line)),
            RegexInstruction::WordBoundary { negated, folded } => on(self.is_word_boundary(*folded) != *negated),
            RegexInstruction::Backreference { groups, any_case, back } => {
                on(self.match_backreference(groups, *any_case, *back, steps)?)
            }
            RegexInstruction::LookStart { negated, exit } => {
                self.frames.push(BacktrackFrame::Lookaround { exit: *exit, at: self.at, negated: *negated });
                NextStep::Step(pc + 1)
            }
            RegexInstruction::LookEnd { negated } => self.end_lookaround(*negated, steps)?,
            RegexInstruction::Accept => NextStep::Found,
        })
    }

    /// Undoes changes back to the last choice and takes its other alternative; `None` if no choice is left.
    fn backtrack(&mut self, steps: &mut StepBudget) -> Result<Option<usize>, StepLimitError> {
        while let Some(frame) = self.frames.pop() {
            steps.spend(1)?;
            match frame {
                BacktrackFrame::Alternative { step, at } => {
                    self.at = at;
                    return Ok(Some(step));
                }
                BacktrackFrame::Slot { slot, was } => self.set_slot(slot, was),
                BacktrackFrame::Loop { reg, was } => self.set_round(reg, was),
                BacktrackFrame::FewerRepeats { step, at, least, back } => {
                    // A backward run gives back characters towards the end of the text.
                    let Some((_, at)) = self.char_at(at, !back) else { continue };
                    if at != least {
                        self.frames.push(BacktrackFrame::FewerRepeats { step, at, least, back });
                    }
                    self.at = at;
                    return Ok(Some(step));
                }
                BacktrackFrame::MoreRepeats { step, set, at, left, back } => {
                    let Some(at) = self.match_set(set, at, back) else { continue };
                    let left = left.map(|left| left.saturating_sub(1));
                    if left != Some(0) {
                        self.frames.push(BacktrackFrame::MoreRepeats { step, set, at, left, back });
                    }
                    self.at = at;
                    return Ok(Some(step));
                }
                BacktrackFrame::Lookaround { exit, at, negated: true } => {
                    self.at = at;
                    return Ok(Some(exit));
                }
                BacktrackFrame::Lookaround { .. } => {}
            }
        }
        Ok(None)
    }

    /// Returns the character at a position and the position after it; with `back`, the one before it.
    fn char_at(&self, at: usize, back: bool) -> Option<(u32, usize)> {
        let unit = |at: usize| self.units.get(at).copied().map(u32::from);
        let is_pair = |high: u32, low: u32| (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
        let joined = |high: u32, low: u32| 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        if back {
            let last = unit(at.checked_sub(1)?)?;
            match at.checked_sub(2).and_then(unit).filter(|high| self.modes.is_unicode && is_pair(*high, last)) {
                Some(high) => Some((joined(high, last), at - 2)),
                None => Some((last, at - 1)),
            }
        } else {
            let first = unit(at)?;
            match unit(at + 1).filter(|low| self.modes.is_unicode && is_pair(first, *low)) {
                Some(low) => Some((joined(first, low), at + 2)),
                None => Some((first, at + 1)),
            }
        }
    }

    /// Returns the position after a character of the set; `None` if another character is there.
    fn match_set(&self, set: usize, at: usize, back: bool) -> Option<usize> {
        let (c, next) = self.char_at(at, back)?;
        self.program.sets.get(set).filter(|set| set.contains(c)).map(|_| next)
    }

    fn match_run(
        &mut self,
        pc: usize,
        set: usize,
        quantifier: RegexQuantifier,
        back: bool,
        steps: &mut StepBudget,
    ) -> Result<bool, StepLimitError> {
        let RegexQuantifier { min, max, greedy } = quantifier;
        // Take as many characters as wanted; `least` is the position after the minimum.
        let (mut at, mut count) = (self.at, 0);
        let mut least = self.at;
        let most = if greedy { max } else { Some(min) };
        while most.is_none_or(|most| count < most) {
            let Some(next) = self.match_set(set, at, back) else { break };
            steps.spend(1)?;
            at = next;
            count += 1;
            if count == min {
                least = at;
            }
        }
        if count < min {
            return Ok(false);
        }
        // Push the frame that can change the length of the run later.
        let left = max.map(|max| max.saturating_sub(count));
        if greedy && at != least {
            self.frames.push(BacktrackFrame::FewerRepeats { step: pc + 1, at, least, back });
        } else if !greedy && left != Some(0) {
            self.frames.push(BacktrackFrame::MoreRepeats { step: pc + 1, set, at, left, back });
        }
        self.at = at;
        Ok(true)
    }

    fn loop_test(&mut self, pc: usize, reg: usize, quantifier: RegexQuantifier, exit: usize) -> NextStep {
        let RegexQuantifier { min, max, greedy } = quantifier;
        let count = self.loop_state(reg).count;
        if count < min {
            return NextStep::Step(pc + 1);
        }
        if max.is_some_and(|max| count >= max) {
            return NextStep::Step(exit);
        }
        let (way, other) = if greedy { (pc + 1, exit) } else { (exit, pc + 1) };
        self.frames.push(BacktrackFrame::Alternative { step: other, at: self.at });
        NextStep::Step(way)
    }

    /// Ends a lookaround whose inner part matched. Drops the alternatives inside and keeps its captures, unless it is
    /// negated.
    fn end_lookaround(&mut self, negated: bool, steps: &mut StepBudget) -> Result<NextStep, StepLimitError> {
        let began =
            self.frames.iter().rposition(|frame| matches!(frame, BacktrackFrame::Lookaround { .. })).unwrap_or(0);
        let inside = self.frames.split_off(began);
        steps.spend(inside.len())?;
        let Some(BacktrackFrame::Lookaround { exit, at, .. }) = inside.first().copied() else {
            return Ok(NextStep::Fail);
        };
        if !negated {
            self.at = at;
            self.frames.extend(
                inside
                    .into_iter()
                    .filter(|frame| matches!(frame, BacktrackFrame::Slot { .. } | BacktrackFrame::Loop { .. })),
            );
            return Ok(NextStep::Step(exit));
        }
        for frame in inside.into_iter().rev() {
            match frame {
                BacktrackFrame::Slot { slot, was } => self.set_slot(slot, was),
                BacktrackFrame::Loop { reg, was } => self.set_round(reg, was),
                _ => {}
            }
        }
        Ok(NextStep::Fail)
    }

    fn match_backreference(
        &mut self,
        groups: &[usize],
        any_case: bool,
        back: bool,
        steps: &mut StepBudget,
    ) -> Result<bool, StepLimitError> {
        let span = groups.iter().find_map(|group| self.group(*group));
        let Some((start, end)) = span else { return Ok(true) };
        let length = end.saturating_sub(start);
        steps.spend(length)?;
        let from = if back { self.at.checked_sub(length) } else { Some(self.at) };
        let Some(from) = from else { return Ok(false) };
        let (wanted, there) = (self.units.get(start..end), self.units.get(from..from + length));
        let (Some(wanted), Some(there)) = (wanted, there) else { return Ok(false) };
        let form = if self.modes.is_unicode { to_lower } else { to_upper };
        let same =
            |(one, other): (&u16, &u16)| one == other || any_case && form(u32::from(*one)) == form(u32::from(*other));
        if !wanted.iter().zip(there).all(same) {
            return Ok(false);
        }
        self.at = if back { from } else { from + length };
        Ok(true)
    }

    /// Returns the start and end of a group, if it took part.
    pub(super) fn group(&self, group: usize) -> Option<(usize, usize)> {
        let place = |slot: usize| self.slots.get(slot).copied().filter(|place| *place != UNSET);
        Some((place(group.checked_mul(2)?)?, place(group.checked_mul(2)? + 1)?))
    }

    fn unit_before(&self) -> Option<u32> {
        self.units.get(self.at.checked_sub(1)?).copied().map(u32::from)
    }

    fn unit_here(&self) -> Option<u32> {
        self.units.get(self.at).copied().map(u32::from)
    }

    fn is_start(&self, by_line: bool) -> bool {
        self.unit_before().is_none_or(|c| by_line && is_line_end(c))
    }

    fn is_end(&self, by_line: bool) -> bool {
        self.unit_here().is_none_or(|c| by_line && is_line_end(c))
    }

    fn is_word_boundary(&self, folded: bool) -> bool {
        let in_word = |c: Option<u32>| {
            c.and_then(char::from_u32)
                .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || folded && matches!(c, 'ſ' | '\u{212A}'))
        };
        in_word(self.unit_before()) != in_word(self.unit_here())
    }

    fn save_slot(&mut self, slot: usize, place: usize) {
        let was = self.slots.get(slot).copied().unwrap_or(UNSET);
        if was != place {
            self.frames.push(BacktrackFrame::Slot { slot, was });
            self.set_slot(slot, place);
        }
    }

    fn set_slot(&mut self, slot: usize, place: usize) {
        if let Some(known) = self.slots.get_mut(slot) {
            *known = place;
        }
    }

    fn loop_state(&self, reg: usize) -> LoopState {
        self.rounds.get(reg).copied().unwrap_or(LoopState { count: 0, began: UNSET })
    }

    fn count(&mut self, reg: usize, round: LoopState) {
        let was = self.loop_state(reg);
        self.frames.push(BacktrackFrame::Loop { reg, was });
        self.set_round(reg, round);
    }

    fn set_round(&mut self, reg: usize, round: LoopState) {
        if let Some(known) = self.rounds.get_mut(reg) {
            *known = round;
        }
    }
}

fn is_line_end(c: u32) -> bool {
    matches!(c, 0x0A | 0x0D | 0x2028 | 0x2029)
}
