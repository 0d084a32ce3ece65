//! Who may become active, why and why not: the conditions of an entry, its keys, its group.

use std::cell::RefCell;
use std::collections::HashSet;

use super::LoreHost;
use super::book::ScopedBook;
use super::effort::ScanBudget;
use super::entry::{LorebookEntry, SelectiveLogic};
use super::finder::{KeyHits, ScanReach};
use super::groups::GroupContest;
use super::keys::{KeyMatchOptions, LoreKey};
use super::passes::{ScanPasses, ScanPhase, entry};
use super::text::ScanTexts;
use super::why::{GroupLoss, LoreReason};

/// Of a key so many letters are told.
const LONGEST_KEY: usize = 200;

impl<'a> ScanPasses<'a> {
    /// Who may become active in this pass: those that stay first, then in the order of the list.
    pub(super) fn candidates(&mut self, phase: ScanPhase) -> Vec<usize> {
        let is_done = std::mem::take(&mut self.is_done);
        self.live.retain(|at| !is_done.get(*at).copied().unwrap_or(true));
        self.is_done = is_done;
        let live = std::mem::take(&mut self.live);
        let mut found = Vec::new();
        for at in &live {
            let Some(own) = self.entry(*at) else { continue };
            match self.look(*at, own, phase) {
                Ok(why) => {
                    self.whys.insert(*at, why);
                    found.push(*at);
                }
                Err(why) => self.say(*at, why),
            }
        }
        self.live = live;
        found.sort_by_key(|at| !self.running.sticky.contains(at));
        found
    }

    /// Notes why an entry is not active, unless more is known.
    fn say(&mut self, at: usize, why: LoreReason) {
        let known = self.whys.get(&at).map_or(0, LoreReason::weight);
        if why.weight() >= known {
            self.whys.insert(at, why);
        }
    }

    /// Whether an entry may become active, and why.
    fn look(&mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> Result<LoreReason, LoreReason> {
        match self.wishes.get(&at) {
            Some(why) if !why.is_active() => return Err(why.clone()),
            Some(why) if !own.disabled && own.labels.belongs(self.scanned.call) => return Ok(why.clone()),
            _ => self.allows(at, own, phase)?,
        }
        match own.force {
            Some(true) => return Ok(LoreReason::Forced),
            Some(false) => return Err(LoreReason::Suppressed),
            None => {}
        }
        if own.constant {
            return Ok(LoreReason::Constant);
        }
        if self.running.sticky.contains(&at) {
            return Ok(LoreReason::Sticky);
        }
        self.by_key(at, own, phase).or_else(|why| self.near.get(&at).cloned().ok_or(why))
    }

    fn by_key(&mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> Result<LoreReason, LoreReason> {
        if own.keys.is_empty() {
            return Err(LoreReason::NoKey);
        }
        let mut search = self.search(at, own, phase);
        let key = search.primary().ok_or(LoreReason::NoKey)?;
        if search.secondary() { Ok(LoreReason::Key { key }) } else { Err(LoreReason::Secondary) }
    }

    /// Everything that stands in the way of an entry whatever the text says.
    fn allows(&mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> Result<(), LoreReason> {
        if own.disabled {
            return Err(LoreReason::Disabled);
        }
        if !own.labels.belongs(self.scanned.call) {
            return Err(LoreReason::Trigger);
        }
        if !own.triggers.is_empty() && !own.triggers.contains(&self.scanned.trigger) {
            return Err(LoreReason::Trigger);
        }
        if !own.filter.passes(&self.scanned.who.file, &self.scanned.who.tags) {
            return Err(LoreReason::Character);
        }
        match &own.when {
            Some(Err(problem)) => return Err(LoreReason::Unreadable { problem: problem.clone() }),
            Some(Ok(when)) if !when.holds(|path| self.around.variable(path)) => return Err(LoreReason::Condition),
            _ => {}
        }
        if self.scanned.count < own.delay {
            return Err(LoreReason::Delay);
        }
        if self.running.sticky.contains(&at) {
            return Ok(());
        }
        if self.running.cooldown.contains(&at) {
            return Err(LoreReason::Cooldown);
        }
        let waits = own.level != 0 && (phase != ScanPhase::Recursion || own.level > self.level);
        let is_excluded = phase == ScanPhase::Recursion && self.settings.recursive && own.excludes_recursion;
        if waits || is_excluded { Err(LoreReason::Recursion) } else { Ok(()) }
    }

    fn search<'b>(&'b mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> KeySearch<'b> {
        let depth = own.scan_depth.unwrap_or(self.depth());
        let book = self.list.get(at).map_or(0, |(book, _)| *book);
        KeySearch {
            own,
            reach: self.texts.reach(depth, own.looks_at, phase != ScanPhase::Deeper),
            manner: KeyMatchOptions {
                case_sensitive: own.case_sensitive.unwrap_or(self.settings.case_sensitive),
                whole_words: own.whole_words.unwrap_or(self.settings.whole_words),
            },
            sights: self.sights.get(book).map(Vec::as_slice).unwrap_or_default(),
            texts: &mut self.texts,
            effort: &mut self.effort,
            around: &mut *self.around,
        }
    }

    /// Lets the groups settle who stays.
    pub(super) fn settle(&mut self, candidates: Vec<usize>, phase: ScanPhase) -> Vec<usize> {
        let (books, list) = (self.books, std::mem::take(&mut self.list));
        let (called, candidates) = self.stand_alone(books, &list, candidates);
        let contest = GroupContest::new(&candidates, |at| entry(books, &list, at), self.settings);
        let (running, active) = (std::mem::take(&mut self.running), std::mem::take(&mut self.active));
        let chance = RefCell::new(&mut *self);
        let score = |at: usize| {
            let own = entry(books, &list, at);
            own.map_or(0, |own| chance.borrow_mut().search(at, own, phase).score())
        };
        let (kept, lost) = contest.settle(&running, &active, score, || chance.borrow_mut().around.draw());
        self.running = running;
        self.active = active;
        self.list = list;
        for (at, how) in lost {
            self.whys.insert(at, LoreReason::Group { lost: how });
        }
        called.into_iter().chain(kept).collect()
    }

    /// Those that plugins call up, and the others that may be active beside them: who is called up stands for its groups.
    fn stand_alone(
        &mut self,
        books: &'a [ScopedBook<'a>],
        list: &[(usize, usize)],
        candidates: Vec<usize>,
    ) -> (Vec<usize>, Vec<usize>) {
        if self.wishes.is_empty() {
            return (Vec::new(), candidates);
        }
        let groups = |at: usize| entry(books, list, at).map(|own| own.groups.as_slice()).unwrap_or_default();
        let (called, others): (Vec<usize>, Vec<usize>) =
            candidates.into_iter().partition(|at| self.wishes.contains_key(at));
        let taken: HashSet<&String> = called.iter().flat_map(|at| groups(*at)).collect();
        let (lost, left): (Vec<usize>, Vec<usize>) =
            others.into_iter().partition(|at| groups(*at).iter().any(|group| taken.contains(group)));
        for at in lost {
            self.whys.insert(at, LoreReason::Group { lost: GroupLoss::Taken });
        }
        (called, left)
    }
}

/// The search for the keys of one entry.
struct KeySearch<'a> {
    own: &'a LorebookEntry,
    reach: ScanReach,
    manner: KeyMatchOptions,
    sights: &'a [KeyHits],
    texts: &'a mut ScanTexts,
    effort: &'a mut ScanBudget,
    around: &'a mut dyn LoreHost,
}

impl KeySearch<'_> {
    fn seen(&self, key: &LoreKey) -> Option<bool> {
        let sight = |pattern: usize, as_word: bool| {
            self.sights.get(pattern).is_some_and(|sight| sight.is_within(&self.reach, as_word))
        };
        key.is_seen(self.manner, sight)
    }

    fn finds(&mut self, key: &LoreKey) -> bool {
        self.seen(key).unwrap_or_else(|| {
            let hay = self.texts.hay(self.reach, self.effort);
            key.is_in(&hay, self.manner, self.effort, |text| self.around.fill(text))
        })
    }

    fn finds_as_written(&mut self, key: &LoreKey) -> bool {
        self.seen(key).filter(|_| key.is_bare()).unwrap_or_else(|| {
            let hay = self.texts.hay(self.reach, self.effort);
            key.is_in_as_written(&hay, self.manner, self.effort)
        })
    }

    /// The first key that is found.
    fn primary(&mut self) -> Option<String> {
        let found = self.own.keys.iter().find(|key| self.finds(key))?;
        Some(found.written.chars().take(LONGEST_KEY).collect())
    }

    /// Whether the other keys are there as they have to be.
    fn secondary(&mut self) -> bool {
        let keys = &self.own.secondary;
        match self.own.logic {
            None => true,
            Some(SelectiveLogic::AnyOf) => keys.iter().any(|key| self.finds(key)),
            Some(SelectiveLogic::NotAll) => keys.iter().any(|key| !self.finds(key)),
            Some(SelectiveLogic::NoneOf) => !keys.iter().any(|key| self.finds(key)),
            Some(SelectiveLogic::AllOf) => keys.iter().all(|key| self.finds(key)),
        }
    }

    /// How many keys are in the text, as they are written.
    fn score(&mut self) -> usize {
        let own = self.own;
        let first = own.keys.iter().filter(|key| self.finds_as_written(key)).count();
        if own.keys.is_empty() || own.secondary.is_empty() {
            return first;
        }
        let second = own.secondary.iter().filter(|key| self.finds_as_written(key)).count();
        match own.written_logic {
            SelectiveLogic::AnyOf => first + second,
            SelectiveLogic::AllOf if second == own.secondary.len() => first + second,
            _ => first,
        }
    }
}
