//! Compiles the tree of a pattern to a list of instructions for the machine.

use std::ops::Range;

use super::set::CharSet;
use super::syntax::{RegexNode, RegexQuantifier, RegexTree};

/// One instruction. With `back` it moves towards the start of the text, as in a lookbehind.
#[derive(Debug, Clone)]
pub(super) enum RegexInstruction {
    /// Matches one character of a set.
    Set { set: usize, back: bool },
    /// Matches characters of a set, as often as the quantifier says.
    Run { set: usize, quantifier: RegexQuantifier, back: bool },
    /// Continues at another step.
    Jump(usize),
    /// Tries the next step first, then `other`.
    Split { other: usize },
    /// Stores the current position in a slot.
    Save(usize),
    /// Resets the state of a loop.
    LoopStart { reg: usize },
    /// Either iterates once more or continues at `exit`. The loop body follows this step.
    LoopTest { reg: usize, quantifier: RegexQuantifier, exit: usize },
    /// Begins an iteration: counts it and clears the groups inside.
    LoopEnter { reg: usize, groups: Range<usize> },
    /// Ends an iteration and goes back to `test`.
    LoopEnd { reg: usize, min: u32, test: usize },
    /// Matches the start of the text, or of a line.
    Start { by_line: bool },
    /// Matches the end of the text, or of a line.
    End { by_line: bool },
    /// Matches a word boundary.
    WordBoundary { negated: bool, folded: bool },
    /// Matches the text of a group again.
    Backreference { groups: Vec<usize>, any_case: bool, back: bool },
    /// Begins a lookaround, whose body follows. Afterwards the match continues at `exit` from the current position.
    LookStart { negated: bool, exit: usize },
    /// Ends a lookaround whose body matched.
    LookEnd { negated: bool },
    /// The match is complete.
    Accept,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct RegexProgram {
    pub steps: Vec<RegexInstruction>,
    pub sets: Vec<CharSet>,
    /// Number of stored positions: two for the match, two for each group.
    pub slots: usize,
    /// Number of loops with a counter.
    pub loops: usize,
    /// Characters that can begin a match; `None` = any, or the match can be empty.
    pub first: Option<CharSet>,
    /// A match can begin only at the start of the text.
    pub at_start: bool,
}

/// Compiles the tree of a pattern.
pub(super) fn compile(tree: &RegexTree) -> RegexProgram {
    let mut writer = RegexCompiler { steps: Vec::new(), sets: Vec::new(), loops: 0 };
    writer.compile_node(&tree.root, false);
    writer.steps.push(RegexInstruction::Accept);
    let (first, is_sure) = first_set(&tree.root);
    RegexProgram {
        steps: writer.steps,
        sets: writer.sets,
        slots: 2 * (tree.groups + 1),
        loops: writer.loops,
        first: first.filter(|_| is_sure),
        at_start: is_anchored(&tree.root),
    }
}

struct RegexCompiler {
    steps: Vec<RegexInstruction>,
    sets: Vec<CharSet>,
    loops: usize,
}

impl RegexCompiler {
    /// Adds a step whose target is not known yet and returns its index.
    fn push_pending(&mut self, step: RegexInstruction) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// Sets the target of a pending step to the next step.
    fn patch_target(&mut self, at: usize) {
        let here = self.steps.len();
        if let Some(
            RegexInstruction::Jump(to)
            | RegexInstruction::Split { other: to }
            | RegexInstruction::LoopTest { exit: to, .. }
            | RegexInstruction::LookStart { exit: to, .. },
        ) = self.steps.get_mut(at)
        {
            *to = here;
        }
    }

    fn add_set(&mut self, set: &CharSet) -> usize {
        // Nearby sets often repeat; only the last 8 are compared.
        let near = self.sets.len().saturating_sub(8);
        if let Some(at) = self.sets.iter().skip(near).position(|known| known == set) {
            return near + at;
        }
        self.sets.push(set.clone());
        self.sets.len() - 1
    }

    fn compile_node(&mut self, part: &RegexNode, back: bool) {
        match part {
            RegexNode::Set(set) => {
                let set = self.add_set(set);
                self.steps.push(RegexInstruction::Set { set, back });
            }
            RegexNode::Start { by_line } => self.steps.push(RegexInstruction::Start { by_line: *by_line }),
            RegexNode::End { by_line } => self.steps.push(RegexInstruction::End { by_line: *by_line }),
            RegexNode::WordBoundary { negated, folded } => {
                self.steps.push(RegexInstruction::WordBoundary { negated: *negated, folded: *folded })
            }
            RegexNode::Backreference { groups, any_case } => {
                self.steps.push(RegexInstruction::Backreference { groups: groups.clone(), any_case: *any_case, back });
            }
            RegexNode::Sequence(parts) if back => parts.iter().rev().for_each(|part| self.compile_node(part, back)),
            RegexNode::Sequence(parts) => parts.iter().for_each(|part| self.compile_node(part, back)),
            RegexNode::Alternation(ways) => self.compile_alternation(ways, back),
            RegexNode::Group { index, inner } => {
                self.steps.push(RegexInstruction::Save(2 * index + usize::from(back)));
                self.compile_node(inner, back);
                self.steps.push(RegexInstruction::Save(2 * index + usize::from(!back)));
            }
            RegexNode::Repeat { inner, quantifier, groups } => self.compile_repeat(inner, *quantifier, groups, back),
            RegexNode::Lookaround { inner, behind, negated } => {
                let look = self.push_pending(RegexInstruction::LookStart { negated: *negated, exit: 0 });
                self.compile_node(inner, *behind);
                self.steps.push(RegexInstruction::LookEnd { negated: *negated });
                self.patch_target(look);
            }
        }
    }

    fn compile_alternation(&mut self, ways: &[RegexNode], back: bool) {
        let mut ends = Vec::new();
        for (i, way) in ways.iter().enumerate() {
            let is_last = i + 1 == ways.len();
            let split = (!is_last).then(|| self.push_pending(RegexInstruction::Split { other: 0 }));
            self.compile_node(way, back);
            if let Some(split) = split {
                ends.push(self.push_pending(RegexInstruction::Jump(0)));
                self.patch_target(split);
            }
        }
        ends.into_iter().for_each(|end| self.patch_target(end));
    }

    fn compile_repeat(&mut self, inner: &RegexNode, quantifier: RegexQuantifier, groups: &Range<usize>, back: bool) {
        if let RegexNode::Set(set) = without_noncapturing(inner) {
            let set = self.add_set(set);
            self.steps.push(RegexInstruction::Run { set, quantifier, back });
            return;
        }
        let reg = self.loops;
        self.loops += 1;
        self.steps.push(RegexInstruction::LoopStart { reg });
        let test = self.push_pending(RegexInstruction::LoopTest { reg, quantifier, exit: 0 });
        self.steps.push(RegexInstruction::LoopEnter { reg, groups: groups.clone() });
        self.compile_node(inner, back);
        self.steps.push(RegexInstruction::LoopEnd { reg, min: quantifier.min, test });
        self.patch_target(test);
    }
}

/// Returns the node inside non-capturing groups.
fn without_noncapturing(part: &RegexNode) -> &RegexNode {
    match part {
        RegexNode::Sequence(parts) => match parts.as_slice() {
            [one] => without_noncapturing(one),
            _ => part,
        },
        _ => part,
    }
}

/// Returns the characters a node can begin with (`None` = any), and whether it must consume a character.
fn first_set(part: &RegexNode) -> (Option<CharSet>, bool) {
    match part {
        RegexNode::Set(set) => (Some(set.clone()), true),
        RegexNode::Backreference { .. } => (None, false),
        RegexNode::Start { .. }
        | RegexNode::End { .. }
        | RegexNode::WordBoundary { .. }
        | RegexNode::Lookaround { .. } => (Some(CharSet::default()), false),
        RegexNode::Group { inner, .. } => first_set(inner),
        RegexNode::Repeat { inner, quantifier, .. } => {
            let (set, is_sure) = first_set(inner);
            (set, is_sure && quantifier.min > 0)
        }
        RegexNode::Sequence(parts) => {
            let mut so_far = Some(CharSet::default());
            for part in parts {
                let (set, is_sure) = first_set(part);
                so_far = so_far.zip(set).map(|(one, other)| one.union(&other));
                if is_sure {
                    return (so_far, true);
                }
            }
            (so_far, false)
        }
        RegexNode::Alternation(ways) => {
            ways.iter().map(first_set).fold((Some(CharSet::default()), true), |(all, sure), (set, is_sure)| {
                (all.zip(set).map(|(one, other)| one.union(&other)), sure && is_sure)
            })
        }
    }
}

fn is_anchored(part: &RegexNode) -> bool {
    match part {
        RegexNode::Start { by_line } => !by_line,
        RegexNode::Group { inner, .. } => is_anchored(inner),
        RegexNode::Sequence(parts) => parts.first().is_some_and(is_anchored),
        RegexNode::Alternation(ways) => ways.iter().all(is_anchored),
        _ => false,
    }
}
