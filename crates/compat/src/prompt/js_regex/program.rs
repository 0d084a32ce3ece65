//! A tree of parts as a list of small steps, for the machine.

use super::set::CharSet;
use super::syntax::{RegexNode, RegexTree};

/// One step of a program. Where it says `back`, it goes towards the beginning of the text, as a look behind does.
#[derive(Debug, Clone)]
pub(super) enum RegexInstruction {
    /// One character of a set.
    Set { set: usize, back: bool },
    /// Characters of a set, as many as there are or as few as will do.
    Run { set: usize, min: u32, max: Option<u32>, greedy: bool, back: bool },
    /// Goes on elsewhere.
    Jump(usize),
    /// Goes on with the next step; if that leads nowhere, at `other`.
    Split { other: usize },
    /// Notes the place.
    Save(usize),
    /// A repetition begins.
    LoopStart { reg: usize },
    /// Once more, or on at `exit`. The next step is the repeated part.
    LoopTest { reg: usize, min: u32, max: Option<u32>, greedy: bool, exit: usize },
    /// Once more: the groups inside forget.
    LoopEnter { reg: usize, groups: (usize, usize) },
    /// It has come once more; back to `test`.
    LoopEnd { reg: usize, min: u32, test: usize },
    /// The beginning.
    Start { by_line: bool },
    /// The end.
    End { by_line: bool },
    /// The edge of a word.
    WordBoundary { negated: bool, folded: bool },
    /// What a group remembers.
    Backreference { groups: Vec<usize>, any_case: bool, back: bool },
    /// A look begins, in the next step; behind it, the match goes on at `exit` from where it is now.
    LookStart { negated: bool, exit: usize },
    /// What was looked for is there.
    LookEnd { negated: bool },
    /// Found.
    Accept,
}

/// A program.
#[derive(Debug, Clone)]
pub(super) struct RegexProgram {
    pub steps: Vec<RegexInstruction>,
    pub sets: Vec<CharSet>,
    /// Places that are noted: two for the match, two for each group.
    pub slots: usize,
    /// Repetitions that count.
    pub loops: usize,
    /// A match begins with one of these.
    pub first: Option<CharSet>,
    /// A match begins at the beginning of the text or nowhere.
    pub at_start: bool,
}

/// Writes the program of a pattern.
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
    /// Writes a step whose target is not known yet.
    fn push_pending(&mut self, step: RegexInstruction) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// The target of a step that waits for one is the next step.
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
        // The same letters come again and again; older ones are not looked through.
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
            RegexNode::Repeat { inner, min, max, greedy, groups } => {
                self.compile_repeat(inner, (*min, *max), *greedy, *groups, back)
            }
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

    fn compile_repeat(
        &mut self,
        inner: &RegexNode,
        bounds: (u32, Option<u32>),
        greedy: bool,
        groups: (usize, usize),
        back: bool,
    ) {
        let (min, max) = bounds;
        if let RegexNode::Set(set) = without_noncapturing(inner) {
            let set = self.add_set(set);
            self.steps.push(RegexInstruction::Run { set, min, max, greedy, back });
            return;
        }
        let reg = self.loops;
        self.loops += 1;
        self.steps.push(RegexInstruction::LoopStart { reg });
        let test = self.push_pending(RegexInstruction::LoopTest { reg, min, max, greedy, exit: 0 });
        self.steps.push(RegexInstruction::LoopEnter { reg, groups });
        self.compile_node(inner, back);
        self.steps.push(RegexInstruction::LoopEnd { reg, min, test });
        self.patch_target(test);
    }
}

/// A part without the groups around it that remember nothing.
fn without_noncapturing(part: &RegexNode) -> &RegexNode {
    match part {
        RegexNode::Sequence(parts) => match parts.as_slice() {
            [one] => without_noncapturing(one),
            _ => part,
        },
        _ => part,
    }
}

/// With what a part begins, and whether it must begin with something. `None` = with anything.
fn first_set(part: &RegexNode) -> (Option<CharSet>, bool) {
    match part {
        RegexNode::Set(set) => (Some(set.clone()), true),
        RegexNode::Backreference { .. } => (None, false),
        RegexNode::Start { .. }
        | RegexNode::End { .. }
        | RegexNode::WordBoundary { .. }
        | RegexNode::Lookaround { .. } => (Some(CharSet::default()), false),
        RegexNode::Group { inner, .. } => first_set(inner),
        RegexNode::Repeat { inner, min, .. } => {
            let (set, is_sure) = first_set(inner);
            (set, is_sure && *min > 0)
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
