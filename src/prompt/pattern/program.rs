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
    Edge { negated: bool, folded: bool },
    /// What a group remembers.
    Back { groups: Vec<usize>, any_case: bool, back: bool },
    /// A look begins, in the next step; behind it, the match goes on at `exit` from where it is now.
    Look { negated: bool, exit: usize },
    /// What was looked for is there.
    Seen { negated: bool },
    /// Found.
    Done,
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
pub(super) fn write(tree: &RegexTree) -> RegexProgram {
    let mut writer = RegexCompiler { steps: Vec::new(), sets: Vec::new(), loops: 0 };
    writer.part(&tree.root, false);
    writer.steps.push(RegexInstruction::Done);
    let (first, is_sure) = first(&tree.root);
    RegexProgram {
        steps: writer.steps,
        sets: writer.sets,
        slots: 2 * (tree.groups + 1),
        loops: writer.loops,
        first: first.filter(|_| is_sure),
        at_start: at_start(&tree.root),
    }
}

struct RegexCompiler {
    steps: Vec<RegexInstruction>,
    sets: Vec<CharSet>,
    loops: usize,
}

impl RegexCompiler {
    /// Writes a step whose target is not known yet.
    fn hold(&mut self, step: RegexInstruction) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// The target of a step that waits for one is the next step.
    fn land(&mut self, at: usize) {
        let here = self.steps.len();
        if let Some(
            RegexInstruction::Jump(to)
            | RegexInstruction::Split { other: to }
            | RegexInstruction::LoopTest { exit: to, .. }
            | RegexInstruction::Look { exit: to, .. },
        ) = self.steps.get_mut(at)
        {
            *to = here;
        }
    }

    fn set(&mut self, set: &CharSet) -> usize {
        // The same letters come again and again; older ones are not looked through.
        let near = self.sets.len().saturating_sub(8);
        if let Some(at) = self.sets.iter().skip(near).position(|known| known == set) {
            return near + at;
        }
        self.sets.push(set.clone());
        self.sets.len() - 1
    }

    fn part(&mut self, part: &RegexNode, back: bool) {
        match part {
            RegexNode::Set(set) => {
                let set = self.set(set);
                self.steps.push(RegexInstruction::Set { set, back });
            }
            RegexNode::Start { by_line } => self.steps.push(RegexInstruction::Start { by_line: *by_line }),
            RegexNode::End { by_line } => self.steps.push(RegexInstruction::End { by_line: *by_line }),
            RegexNode::Edge { negated, folded } => {
                self.steps.push(RegexInstruction::Edge { negated: *negated, folded: *folded })
            }
            RegexNode::Back { groups, any_case } => {
                self.steps.push(RegexInstruction::Back { groups: groups.clone(), any_case: *any_case, back });
            }
            RegexNode::Row(parts) if back => parts.iter().rev().for_each(|part| self.part(part, back)),
            RegexNode::Row(parts) => parts.iter().for_each(|part| self.part(part, back)),
            RegexNode::Either(ways) => self.either(ways, back),
            RegexNode::Group { index, inner } => {
                self.steps.push(RegexInstruction::Save(2 * index + usize::from(back)));
                self.part(inner, back);
                self.steps.push(RegexInstruction::Save(2 * index + usize::from(!back)));
            }
            RegexNode::Repeat { inner, min, max, greedy, groups } => {
                self.repeat(inner, (*min, *max), *greedy, *groups, back)
            }
            RegexNode::Look { inner, behind, negated } => {
                let look = self.hold(RegexInstruction::Look { negated: *negated, exit: 0 });
                self.part(inner, *behind);
                self.steps.push(RegexInstruction::Seen { negated: *negated });
                self.land(look);
            }
        }
    }

    fn either(&mut self, ways: &[RegexNode], back: bool) {
        let mut ends = Vec::new();
        for (i, way) in ways.iter().enumerate() {
            let is_last = i + 1 == ways.len();
            let split = (!is_last).then(|| self.hold(RegexInstruction::Split { other: 0 }));
            self.part(way, back);
            if let Some(split) = split {
                ends.push(self.hold(RegexInstruction::Jump(0)));
                self.land(split);
            }
        }
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn repeat(
        &mut self,
        inner: &RegexNode,
        bounds: (u32, Option<u32>),
        greedy: bool,
        groups: (usize, usize),
        back: bool,
    ) {
        let (min, max) = bounds;
        if let RegexNode::Set(set) = bare(inner) {
            let set = self.set(set);
            self.steps.push(RegexInstruction::Run { set, min, max, greedy, back });
            return;
        }
        let reg = self.loops;
        self.loops += 1;
        self.steps.push(RegexInstruction::LoopStart { reg });
        let test = self.hold(RegexInstruction::LoopTest { reg, min, max, greedy, exit: 0 });
        self.steps.push(RegexInstruction::LoopEnter { reg, groups });
        self.part(inner, back);
        self.steps.push(RegexInstruction::LoopEnd { reg, min, test });
        self.land(test);
    }
}

/// A part without the groups around it that remember nothing.
fn bare(part: &RegexNode) -> &RegexNode {
    match part {
        RegexNode::Row(parts) => match parts.as_slice() {
            [one] => bare(one),
            _ => part,
        },
        _ => part,
    }
}

/// With what a part begins, and whether it must begin with something. `None` = with anything.
fn first(part: &RegexNode) -> (Option<CharSet>, bool) {
    match part {
        RegexNode::Set(set) => (Some(set.clone()), true),
        RegexNode::Back { .. } => (None, false),
        RegexNode::Start { .. } | RegexNode::End { .. } | RegexNode::Edge { .. } | RegexNode::Look { .. } => {
            (Some(CharSet::default()), false)
        }
        RegexNode::Group { inner, .. } => first(inner),
        RegexNode::Repeat { inner, min, .. } => {
            let (set, is_sure) = first(inner);
            (set, is_sure && *min > 0)
        }
        RegexNode::Row(parts) => {
            let mut so_far = Some(CharSet::default());
            for part in parts {
                let (set, is_sure) = first(part);
                so_far = so_far.zip(set).map(|(one, other)| one.or(&other));
                if is_sure {
                    return (so_far, true);
                }
            }
            (so_far, false)
        }
        RegexNode::Either(ways) => {
            ways.iter().map(first).fold((Some(CharSet::default()), true), |(all, sure), (set, is_sure)| {
                (all.zip(set).map(|(one, other)| one.or(&other)), sure && is_sure)
            })
        }
    }
}

fn at_start(part: &RegexNode) -> bool {
    match part {
        RegexNode::Start { by_line } => !by_line,
        RegexNode::Group { inner, .. } => at_start(inner),
        RegexNode::Row(parts) => parts.first().is_some_and(at_start),
        RegexNode::Either(ways) => ways.iter().all(at_start),
        _ => false,
    }
}
