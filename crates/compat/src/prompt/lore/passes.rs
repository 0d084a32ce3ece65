//! The steps of a scan, in SillyTavern's order. Each pass finds candidates, resolves groups and applies the budget;
//! recursion then scans the texts of the new entries.

use std::collections::HashMap;

use super::LoreHost;
use super::book::{ScopedBook, ordered_entries};
use super::entry::LorebookEntry;
use super::key_finder::{KeyHits, ScanPart};
use super::placement::{LorePlacement, script_depth};
use super::scan::{ActiveEntry, ScanOutcome, ScanRequest, is_worth_reporting};
use super::scan_budget::{MAX_NOTES, ScanBudget};
use super::scan_text::ScanTexts;
use super::settings::WorldInfoSettings;
use super::timers::{ActiveTimers, LoreTimers, TimerDurations};
use super::title_labels::LoreAudience;
use super::token_buffer::TokenBuffer;
use super::verdict::{LoreReason, LoreVerdict};
use clotho_core::letters::fold_text;

/// The purpose of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanPhase {
    /// The first pass.
    First,
    /// Scans the texts of activated entries.
    Recursion,
    /// Scans older messages, because too few entries are active.
    MinActivations,
}

/// A running scan. Entries are identified by their index in `list`.
pub struct ScanPasses<'a> {
    pub(super) books: &'a [ScopedBook<'a>],
    pub(super) list: Vec<(usize, usize)>,
    /// For each book, the list indices of its entries.
    places: Vec<Vec<Option<usize>>>,
    pub(super) settings: &'a WorldInfoSettings,
    pub(super) request: &'a ScanRequest,
    pub(super) host: &'a mut dyn LoreHost,
    pub(super) scan_budget: ScanBudget,
    pub(super) texts: ScanTexts,
    /// For each book, the hits of its keys.
    pub(super) key_hits: Vec<Vec<KeyHits>>,
    /// Number of messages scanned so far.
    messages_scanned: usize,
    deepest: i64,
    timers: LoreTimers,
    pub(super) running: ActiveTimers,
    /// Entries that the automaton cannot rule out, in list order.
    pub(super) candidates: Vec<usize>,
    is_live: Vec<bool>,
    /// Settled entries: active, or failed for this scan.
    pub(super) is_done: Vec<bool>,
    pub(super) active: Vec<usize>,
    pub(super) reasons: HashMap<usize, LoreReason>,
    /// Entries that match by content, with the reason.
    pub(super) similar: HashMap<usize, LoreReason>,
    /// Entries that a plugin activates or suppresses.
    pub(super) overrides: HashMap<usize, LoreReason>,
    contents: HashMap<usize, String>,
    levels: Vec<i64>,
    pub(super) level: i64,
    deeper: i64,
    recursion_tokens: TokenBuffer,
    budget: usize,
    overflowed: bool,
    passes: usize,
}

/// Scans books and returns the active entries with their reasons.
pub fn scan(
    books: &[ScopedBook<'_>],
    settings: &WorldInfoSettings,
    request: &ScanRequest,
    timers: &LoreTimers,
    around: &mut dyn LoreHost,
) -> ScanOutcome {
    ScanPasses::new(books, settings, request, timers.clone(), around).run()
}

impl<'a> ScanPasses<'a> {
    /// Prepares a scan.
    pub fn new(
        books: &'a [ScopedBook<'a>],
        settings: &'a WorldInfoSettings,
        scanned: &'a ScanRequest,
        timers: LoreTimers,
        around: &'a mut dyn LoreHost,
    ) -> Self {
        let list = ordered_entries(books, settings.strategy);
        let mut places: Vec<Vec<Option<usize>>> =
            books.iter().map(|bound| vec![None; bound.book.entries.len()]).collect();
        for (at, (book, entry)) in list.iter().enumerate() {
            places
                .get_mut(*book)
                .and_then(|places| places.get_mut(*entry))
                .into_iter()
                .for_each(|place| *place = Some(at));
        }
        let mut effort = ScanBudget::new(scanned.stop.clone());
        let texts =
            ScanTexts::new(&scanned.messages, settings.includes_names, &scanned.card, &scanned.injects, &mut effort);
        let size = list.len();
        let mut passes = Self {
            books,
            places,
            settings,
            request: scanned,
            host: around,
            scan_budget: effort,
            key_hits: books.iter().map(|bound| bound.book.finder.empty_hits()).collect(),
            texts,
            messages_scanned: 0,
            deepest: 0,
            timers,
            running: ActiveTimers::default(),
            candidates: Vec::new(),
            is_live: vec![false; size],
            is_done: vec![false; size],
            active: Vec::new(),
            reasons: HashMap::new(),
            similar: HashMap::new(),
            overrides: HashMap::new(),
            contents: HashMap::new(),
            levels: Vec::new(),
            level: 0,
            deeper: 0,
            recursion_tokens: TokenBuffer::default(),
            budget: settings.budget_tokens(scanned.prompt).min(scanned.max_tokens.unwrap_or(usize::MAX)),
            overflowed: false,
            passes: 0,
            list,
        };
        passes.prepare();
        passes
    }

    /// Initializes depth, recursion levels, timers and overrides, and scans the parts that do not change.
    fn prepare(&mut self) {
        self.deepest = self.books.iter().map(|bound| bound.book.max_scan_depth).max().unwrap_or(0);
        let mut levels: Vec<i64> =
            self.books.iter().flat_map(|bound| bound.book.recursion_levels.iter().copied()).collect();
        levels.sort_unstable_by(|a, b| b.cmp(a));
        levels.dedup();
        self.level = levels.pop().unwrap_or(0);
        self.levels = levels;
        if !self.request.ignores_timers {
            self.run_timers();
        }
        // Entries that match by content, and entries that plugins override.
        for near in &self.request.similar {
            let place = self.places.get(near.book).and_then(|places| places.get(near.entry)).copied().flatten();
            self.similar.extend(place.map(|at| (at, near.reason.clone())));
        }
        for forced in &self.request.overrides {
            let place = self.places.get(forced.book).and_then(|places| places.get(forced.entry)).copied().flatten();
            let plugin = forced.plugin.clone();
            let why = if forced.is_activated {
                LoreReason::ActivatedByPlugin { plugin }
            } else {
                LoreReason::SuppressedByPlugin { plugin }
            };
            self.overrides.extend(place.map(|at| (at, why)));
        }
        // Entries that must be checked whatever the text says.
        let always: Vec<usize> = self
            .books
            .iter()
            .zip(&self.places)
            .flat_map(|(bound, places)| {
                bound.book.finder.unfiltered.iter().filter_map(|at| places.get(*at).copied().flatten())
            })
            .chain(self.running.sticky.iter().copied())
            .chain(self.similar.keys().copied())
            .chain(self.overrides.keys().copied())
            .collect();
        self.add_candidates(always);
        // Scan the card texts and injected texts.
        let fixed: Vec<(ScanPart, String)> =
            self.texts.fixed_parts().map(|(part, text)| (part, text.to_owned())).collect();
        fixed.iter().for_each(|(part, text)| self.scan_part(*part, text));
        let notes = self.books.iter().flat_map(|bound| &bound.book.notes);
        self.scan_budget.notes.extend(notes.take(MAX_NOTES).cloned());
    }

    fn run_timers(&mut self) {
        let timed = self.timers.sticky.keys().chain(self.timers.cooldown.keys());
        let mut places: HashMap<String, usize> = timed.map(|key| (key.clone(), usize::MAX)).collect();
        if places.is_empty() {
            return;
        }
        for (bound, own) in self.books.iter().zip(&self.places) {
            let timed = bound.book.timed_entries.iter().filter_map(|at| own.get(*at).copied().flatten());
            timed.for_each(|at| _ = places.entry(self.entry_key(at)).and_modify(|place| *place = at));
        }
        let find = |key: &str| places.get(key).copied().filter(|at| *at != usize::MAX);
        let times = |at: usize| entry(self.books, &self.list, at).map(TimerDurations::from_entry);
        self.running = self.timers.update(self.request.count, find, times);
    }

    /// Returns the key of an entry in the timers: `book.uid`.
    fn entry_key(&self, at: usize) -> String {
        let (book, uid) = self.named(at);
        format!("{book}.{uid}")
    }

    fn named(&self, at: usize) -> (&'a str, &'a str) {
        let place = self.list.get(at).copied().unwrap_or_default();
        let book = self.books.get(place.0).map(|bound| bound.book);
        let uid = book.and_then(|book| book.entries.get(place.1)).map(|entry| entry.uid.as_str());
        (book.map(|book| book.id.as_str()).unwrap_or_default(), uid.unwrap_or_default())
    }

    pub(super) fn entry(&self, at: usize) -> Option<&'a LorebookEntry> {
        entry(self.books, &self.list, at)
    }

    /// Adds entries that may become active from now on.
    fn add_candidates(&mut self, found: impl IntoIterator<Item = usize>) {
        let before = self.candidates.len();
        for at in found {
            if let Some(is_live) = self.is_live.get_mut(at).filter(|is_live| !**is_live) {
                *is_live = true;
                self.candidates.push(at);
            }
        }
        if self.candidates.len() > before {
            self.candidates.sort_unstable();
        }
    }

    /// Records which keys are in a part of the text, and adds the entries that may become active.
    fn scan_part(&mut self, part: ScanPart, text: &str) {
        if text.is_empty() || self.scan_budget.is_stopped() {
            return;
        }
        let folded = fold_text(text);
        let mut found = Vec::new();
        for ((bound, places), sights) in self.books.iter().zip(&self.places).zip(&mut self.key_hits) {
            bound.book.finder.scan(part, &folded, sights, |at| found.extend(places.get(at).copied().flatten()));
        }
        self.add_candidates(found);
    }

    /// Returns the scan depth of entries without their own.
    pub(super) fn depth(&self) -> i64 {
        self.settings.depth.saturating_add(self.deeper)
    }

    fn scan_messages(&mut self) {
        let deep = usize::try_from(self.depth().max(self.deepest)).unwrap_or(0).min(self.texts.len());
        while self.messages_scanned < deep {
            let text = self.texts.message(self.messages_scanned).unwrap_or_default().to_owned();
            self.scan_part(ScanPart::Message(self.messages_scanned), &text);
            self.messages_scanned += 1;
        }
    }

    /// Runs all passes.
    pub fn run(mut self) -> ScanOutcome {
        let mut phase = ScanPhase::First;
        loop {
            let is_full = self.settings.max_passes > 0 && self.passes >= self.settings.max_passes;
            if is_full || !self.scan_budget.spend_pass() {
                break;
            }
            self.passes += 1;
            self.scan_messages();
            let candidates = self.candidates(phase);
            let kept = self.resolve_groups(candidates, phase);
            let passed = self.activate(&kept);
            let Some(next) = self.next_phase(phase, &passed) else { break };
            self.add_recursion(&passed);
            phase = next;
        }
        self.finish()
    }

    /// Rolls probabilities and activates entries within the budget. Returns the entries that passed the roll, even over
    /// budget.
    fn activate(&mut self, kept: &[usize]) -> Vec<usize> {
        let mut passed = Vec::with_capacity(kept.len());
        let mut new = TokenBuffer::default();
        let before = self.recursion_tokens.tokens(self.host);
        for at in kept.iter().copied() {
            let Some(own) = self.entry(at) else { continue };
            if self.scan_budget.is_stopped() {
                break;
            }
            if self.overflowed && !own.ignores_budget {
                self.reasons.insert(at, LoreReason::Budget);
                passed.push(at);
                continue;
            }
            if !self.roll_probability(at, own) {
                self.reasons.insert(at, LoreReason::Probability);
                self.settle_entry(at);
                continue;
            }
            passed.push(at);
            // Expand macros even if the budget may be exceeded: later texts see the variables they write.
            let text = self.host.fill(&own.content);
            new.push(&text, self.host);
            self.contents.insert(at, text);
            if !own.ignores_budget && before + new.tokens(self.host) >= self.budget {
                self.overflowed = true;
                self.reasons.insert(at, LoreReason::Budget);
            } else {
                self.active.push(at);
                self.settle_entry(at);
            }
        }
        passed
    }

    fn settle_entry(&mut self, at: usize) {
        self.is_done.get_mut(at).into_iter().for_each(|is_done| *is_done = true);
    }

    fn roll_probability(&mut self, at: usize, own: &LorebookEntry) -> bool {
        if self.overrides.contains_key(&at) {
            return true;
        }
        match own.probability {
            Some(share) if share != 100.0 => self.running.sticky.contains(&at) || self.host.random() * 100.0 <= share,
            _ => true,
        }
    }

    /// Returns the purpose of the next pass; `None` = the scan is complete.
    fn next_phase(&mut self, phase: ScanPhase, passed: &[usize]) -> Option<ScanPhase> {
        let calls = |at: &usize| self.entry(*at).is_some_and(|own| !own.prevents_recursion);
        let may_recurse = self.settings.recursive && !self.overflowed;
        if may_recurse
            && (passed.iter().any(calls) || (phase == ScanPhase::MinActivations && self.texts.has_recursion()))
        {
            return Some(ScanPhase::Recursion);
        }
        if !self.overflowed && self.active.len() < self.settings.min_activations && self.can_scan_deeper() {
            self.deeper += 1;
            return Some(ScanPhase::MinActivations);
        }
        self.level = self.levels.pop()?;
        Some(ScanPhase::Recursion)
    }

    fn can_scan_deeper(&self) -> bool {
        let most = self.settings.min_activations_depth;
        let is_beyond = most > 0 && self.depth() > most;
        let messages = i64::try_from(self.texts.len()).unwrap_or(i64::MAX);
        !is_beyond && self.depth() <= messages
    }

    /// Adds the texts of the passed entries to the scanned text, including those over budget.
    fn add_recursion(&mut self, passed: &[usize]) {
        let mut text = String::new();
        let mut is_first = true;
        for at in passed {
            let Some(own) = self.entry(*at).filter(|own| !own.prevents_recursion) else { continue };
            if !std::mem::take(&mut is_first) {
                text.push('\n');
            }
            text.push_str(self.contents.get(at).unwrap_or(&own.content));
        }
        if text.is_empty() {
            return;
        }
        let seen = self.texts.add_recursion(&text, &mut self.scan_budget).map(str::to_owned);
        self.recursion_tokens.push(&text, self.host);
        seen.iter().for_each(|seen| self.scan_part(ScanPart::Recursion, seen));
    }

    /// Starts timers, applies scripts and puts the texts in their places.
    fn finish(mut self) -> ScanOutcome {
        if !self.request.ignores_timers {
            self.begin_timers();
        }
        let active = std::mem::take(&mut self.active);
        let mut texts: HashMap<usize, String> = HashMap::new();
        for at in active.iter().copied() {
            if let Some(own) = self.entry(at) {
                let text = self.contents.remove(&at).unwrap_or_default();
                let text = if text.is_empty() { text } else { self.host.apply_scripts(text, script_depth(own)) };
                texts.insert(at, text);
            }
        }
        // Build the list of active entries in activation order, then sort the texts for placement.
        let fired = active
            .iter()
            .map(|at| ActiveEntry { verdict: self.verdict(*at), text: texts.get(at).cloned().unwrap_or_default() });
        let fired: Vec<ActiveEntry> = fired.collect();
        let mut sorted: Vec<(&'a LorebookEntry, String)> =
            active.iter().filter_map(|at| Some((self.entry(*at)?, texts.remove(at)?))).collect();
        sorted.sort_by(|(a, _), (b, _)| b.order.total_cmp(&a.order));
        let is_told = |(entry, _): &(&LorebookEntry, String)| {
            !self.request.has_values_call || entry.labels.is_for(LoreAudience::Story)
        };
        let (told, values): (Vec<_>, Vec<_>) = sorted.into_iter().partition(is_told);
        let stopped = self.stopped();
        ScanOutcome {
            placement: LorePlacement::from_entries(told),
            values: values.into_iter().map(|(_, text)| text).filter(|text| !text.is_empty()).rev().collect(),
            silent: self.list.len() - fired.len() - stopped.len(),
            active: fired,
            timers: self.timers,
            budget: self.budget,
            count: self.request.count,
            overflowed: self.overflowed,
            passes: self.passes,
            stopped,
            notes: self.scan_budget.notes,
        }
    }

    fn begin_timers(&mut self) {
        for at in self.active.clone() {
            if let Some(own) = self.entry(at).filter(|own| own.sticky > 0 || own.cooldown > 0) {
                let key = self.entry_key(at);
                self.timers.start(&key, &TimerDurations::from_entry(own), self.request.count);
            }
        }
    }

    fn verdict(&self, at: usize) -> LoreVerdict {
        let (book, uid) = self.named(at);
        let title = self.entry(at).map(|own| own.title.clone()).unwrap_or_default();
        let why = self.reasons.get(&at).cloned().unwrap_or(LoreReason::NoKey);
        LoreVerdict { book: book.to_owned(), uid: uid.to_owned(), title, why }
    }

    fn stopped(&self) -> Vec<LoreVerdict> {
        let mut stopped: Vec<usize> = self
            .reasons
            .iter()
            .filter(|(_, why)| !why.is_active() && is_worth_reporting(why))
            .map(|(at, _)| *at)
            .collect();
        stopped.sort_unstable();
        stopped.into_iter().map(|at| self.verdict(at)).collect()
    }
}

/// Returns the entry at an index of the list.
pub(super) fn entry<'a>(books: &'a [ScopedBook<'a>], list: &[(usize, usize)], at: usize) -> Option<&'a LorebookEntry> {
    let (book, entry) = list.get(at)?;
    books.get(*book)?.book.entries.get(*entry)
}

#[cfg(test)]
mod tests {
    use clotho_core::stop_check::StopCheck;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::prompt::lore::{LorebookScope, ScanBook, ScanMessage};

    /// Counts how many texts are filled in.
    struct CountingHost(usize);

    impl LoreHost for CountingHost {
        fn fill(&mut self, text: &str) -> String {
            self.0 += 1;
            text.to_owned()
        }

        fn apply_scripts(&mut self, text: String, _: Option<i64>) -> String {
            text
        }

        fn variable(&mut self, _: &[String]) -> Option<Value> {
            None
        }

        fn count_tokens(&mut self, _: &str) -> usize {
            0
        }

        fn random(&mut self) -> f64 {
            0.5
        }
    }

    /// Scans entries that call each other, and returns how many were filled in and how often the sign was looked at.
    fn scan_until(stop: &StopCheck, count: usize, entry: impl Fn(usize) -> Value) -> (usize, usize) {
        let entries: Map<String, Value> = (0..count).map(|uid| (uid.to_string(), entry(uid))).collect();
        let book = ScanBook::read("b", "Book", json!({"entries": entries}).as_object().unwrap());
        let books = [ScopedBook { scope: LorebookScope::Chat, book: &book }];
        let message = ScanMessage { name: "Ann".to_owned(), text: "A lamp 0. ".repeat(1_000) };
        let request = ScanRequest {
            messages: vec![message; 50],
            prompt: 1_000_000,
            stop: stop.clone(),
            ..ScanRequest::default()
        };
        let settings = WorldInfoSettings { recursive: true, depth: 50, ..WorldInfoSettings::default() };
        let mut host = CountingHost(0);
        scan(&books, &settings, &request, &LoreTimers::default(), &mut host);
        (host.0, stop.looks())
    }

    /// Nobody waits for the outcome any more: a large book is left alone, in whatever part of the work it is.
    #[test]
    fn scan_stops_within_a_large_book() {
        let constant = |uid: usize| json!({"uid": uid, "content": "text", "constant": true});
        let called =
            |uid: usize| json!({"uid": uid, "key": [format!("lamp {uid}.")], "content": format!("lamp {}.", uid + 1)});
        let pattern = |uid: usize| json!({"uid": uid, "key": [format!("/(l|a|m)+ {uid}$/")], "content": "text"});
        for (name, count, entry) in [
            ("constant", 2_000, &constant as &dyn Fn(usize) -> Value),
            ("called", 300, &called),
            ("pattern", 300, &pattern),
        ] {
            let (filled, all) = scan_until(&StopCheck::new(), count, entry);
            assert!(all > 700, "{name}: {all} looks");
            for most in [0, 1, 10, 55] {
                let (few, looks) = scan_until(&StopCheck::after_looks(most), count, entry);
                assert!(few <= most.min(filled), "{name}: {few} filled in after {most} looks");
                // What is still asked for after the sign costs a look and nothing else.
                assert!(looks < most + 700, "{name}: {looks} looks after the sign at {most}");
            }
        }
    }
}
