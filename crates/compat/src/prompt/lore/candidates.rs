//! Decides which entries may become active, and why: conditions, keys and groups.

use std::cell::RefCell;
use std::collections::HashSet;

use super::LoreHost;
use super::book::ScopedBook;
use super::entry::{LorebookEntry, SelectiveLogic};
use super::groups::GroupContest;
use super::key_finder::{KeyHits, ScanReach};
use super::keys::{KeyMatchOptions, LoreKey};
use super::passes::{ScanPasses, ScanPhase, entry};
use super::scan_budget::ScanBudget;
use super::scan_text::ScanTexts;
use super::verdict::{GroupLoss, LoreReason};

/// Entries between two looks whether to stop.
const ENTRIES_PER_LOOK: usize = 256;
/// Longest key in a reason, in characters.
const MAX_KEY_CHARS: usize = 200;

impl<'a> ScanPasses<'a> {
    /// Returns the entries that may become active in this pass: sticky ones first, then in list order.
    pub(super) fn candidates(&mut self, phase: ScanPhase) -> Vec<usize> {
        let is_done = std::mem::take(&mut self.is_done);
        self.candidates.retain(|at| !is_done.get(*at).copied().unwrap_or(true));
        self.is_done = is_done;
        let live = std::mem::take(&mut self.candidates);
        let mut found = Vec::new();
        for (n, at) in live.iter().enumerate() {
            if n % ENTRIES_PER_LOOK == 0 && self.scan_budget.is_stopped() {
                break;
            }
            let Some(own) = self.entry(*at) else { continue };
            match self.evaluate(*at, own, phase) {
                Ok(why) => {
                    self.reasons.insert(*at, why);
                    found.push(*at);
                }
                Err(why) => self.record_reason(*at, why),
            }
        }
        self.candidates = live;
        found.sort_by_key(|at| !self.running.sticky.contains(at));
        found
    }

    /// Records why an entry is not active, unless a reason of higher priority is known.
    fn record_reason(&mut self, at: usize, why: LoreReason) {
        let known = self.reasons.get(&at).map_or(0, LoreReason::priority);
        if why.priority() >= known {
            self.reasons.insert(at, why);
        }
    }

    /// Returns why an entry may become active, or why not (`Err`).
    fn evaluate(&mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> Result<LoreReason, LoreReason> {
        match self.overrides.get(&at) {
            Some(why) if !why.is_active() => return Err(why.clone()),
            Some(why) if !own.disabled && own.labels.is_for(self.request.audience) => return Ok(why.clone()),
            _ => self.check_conditions(at, own, phase)?,
        }
        match own.forced_activation {
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
        self.evaluate_keys(at, own, phase).or_else(|why| self.similar.get(&at).cloned().ok_or(why))
    }

    fn evaluate_keys(&mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> Result<LoreReason, LoreReason> {
        if own.keys.is_empty() {
            return Err(LoreReason::NoKey);
        }
        let mut search = self.search(at, own, phase);
        let key = search.primary().ok_or(LoreReason::NoKey)?;
        if search.secondary() { Ok(LoreReason::Key { key }) } else { Err(LoreReason::Secondary) }
    }

    /// Checks all conditions that do not depend on the text.
    fn check_conditions(&mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> Result<(), LoreReason> {
        if own.disabled {
            return Err(LoreReason::Disabled);
        }
        if !own.labels.is_for(self.request.audience) {
            return Err(LoreReason::Trigger);
        }
        if !own.triggers.is_empty() && !own.triggers.contains(&self.request.trigger) {
            return Err(LoreReason::Trigger);
        }
        if !own.filter.allows(&self.request.character.file, &self.request.character.tags) {
            return Err(LoreReason::Character);
        }
        match &own.condition {
            Some(Err(error)) => return Err(LoreReason::unreadable(error)),
            Some(Ok(when)) if !when.holds(|path| self.host.variable(path)) => return Err(LoreReason::Condition),
            _ => {}
        }
        if self.request.count < own.delay {
            return Err(LoreReason::Delay);
        }
        if self.running.sticky.contains(&at) {
            return Ok(());
        }
        if self.running.cooldown.contains(&at) {
            return Err(LoreReason::Cooldown);
        }
        let waits = own.recursion_delay != 0 && (phase != ScanPhase::Recursion || own.recursion_delay > self.level);
        let is_excluded = phase == ScanPhase::Recursion && self.settings.recursive && own.excludes_recursion;
        if waits || is_excluded { Err(LoreReason::Recursion) } else { Ok(()) }
    }

    fn search<'b>(&'b mut self, at: usize, own: &'a LorebookEntry, phase: ScanPhase) -> KeySearch<'b> {
        let depth = own.scan_depth.unwrap_or(self.depth());
        let book = self.list.get(at).map_or(0, |(book, _)| *book);
        KeySearch {
            own,
            reach: self.texts.reach(depth, own.scanned_card_texts, phase != ScanPhase::MinActivations),
            manner: KeyMatchOptions {
                case_sensitive: own.case_sensitive.unwrap_or(self.settings.case_sensitive),
                whole_words: own.whole_words.unwrap_or(self.settings.whole_words),
                word_characters: self.books.get(book).map(|bound| bound.book.word_characters).unwrap_or_default(),
            },
            sights: self.key_hits.get(book).map(Vec::as_slice).unwrap_or_default(),
            texts: &mut self.texts,
            effort: &mut self.scan_budget,
            around: &mut *self.host,
        }
    }

    /// Resolves the inclusion groups and returns the remaining candidates.
    pub(super) fn resolve_groups(&mut self, candidates: Vec<usize>, phase: ScanPhase) -> Vec<usize> {
        let (books, list) = (self.books, std::mem::take(&mut self.list));
        let (called, candidates) = self.split_overrides(books, &list, candidates);
        let contest = GroupContest::new(&candidates, |at| entry(books, &list, at), self.settings);
        let (running, active) = (std::mem::take(&mut self.running), std::mem::take(&mut self.active));
        let chance = RefCell::new(&mut *self);
        let score = |at: usize| {
            let own = entry(books, &list, at);
            own.map_or(0, |own| chance.borrow_mut().search(at, own, phase).score())
        };
        let (kept, lost) = contest.resolve(&running, &active, score, || chance.borrow_mut().host.random());
        self.running = running;
        self.active = active;
        self.list = list;
        for (at, how) in lost {
            self.reasons.insert(at, LoreReason::Group { lost: how });
        }
        called.into_iter().chain(kept).collect()
    }

    /// Splits off the entries that plugins activate. They win their groups: other entries of these groups are removed.
    fn split_overrides(
        &mut self,
        books: &'a [ScopedBook<'a>],
        list: &[(usize, usize)],
        candidates: Vec<usize>,
    ) -> (Vec<usize>, Vec<usize>) {
        if self.overrides.is_empty() {
            return (Vec::new(), candidates);
        }
        let groups = |at: usize| entry(books, list, at).map(|own| own.groups.as_slice()).unwrap_or_default();
        let (called, others): (Vec<usize>, Vec<usize>) =
            candidates.into_iter().partition(|at| self.overrides.contains_key(at));
        let taken: HashSet<&String> = called.iter().flat_map(|at| groups(*at)).collect();
        let (lost, left): (Vec<usize>, Vec<usize>) =
            others.into_iter().partition(|at| groups(*at).iter().any(|group| taken.contains(group)));
        for at in lost {
            self.reasons.insert(at, LoreReason::Group { lost: GroupLoss::Taken });
        }
        (called, left)
    }
}

/// The key search of one entry.
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
    fn is_in_hits(&self, key: &LoreKey) -> Option<bool> {
        let sight = |pattern: usize, as_word: bool| {
            self.sights.get(pattern).is_some_and(|sight| sight.is_within(&self.reach, as_word))
        };
        key.is_in_hits(self.manner, sight)
    }

    fn finds(&mut self, key: &LoreKey) -> bool {
        self.is_in_hits(key).unwrap_or_else(|| {
            let hay = self.texts.haystack(self.reach, self.effort);
            key.is_in(&hay, self.manner, self.effort, |text| self.around.fill(text))
        })
    }

    fn finds_as_written(&mut self, key: &LoreKey) -> bool {
        self.is_in_hits(key).filter(|_| key.is_trimmed()).unwrap_or_else(|| {
            let hay = self.texts.haystack(self.reach, self.effort);
            key.is_in_literal(&hay, self.manner, self.effort)
        })
    }

    /// Returns the first key that is found.
    fn primary(&mut self) -> Option<String> {
        let found = self.own.keys.iter().find(|key| self.finds(key))?;
        Some(found.text.chars().take(MAX_KEY_CHARS).collect())
    }

    /// Returns whether the secondary keys satisfy the entry's logic.
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

    /// Counts the keys in the text, without expanding macros. This score decides in groups.
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
