//! Timers of entries: sticky and cooldown.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::entry::LorebookEntry;

/// A timer, counted in visible messages of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoreTimer {
    /// Hash of the entry; a changed entry is a different one.
    pub hash: String,
    /// Number of messages at its start.
    pub start: u64,
    /// Number of messages at which it ends.
    pub end: u64,
    /// It stays valid if the story goes back to before its start.
    pub protected: bool,
}

/// The timers of a story, by `book.uid`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoreTimers {
    pub sticky: BTreeMap<String, LoreTimer>,
    pub cooldown: BTreeMap<String, LoreTimer>,
}

/// Entries with a running timer, as indices in the scan list.
#[derive(Debug, Default)]
pub struct ActiveTimers {
    pub sticky: HashSet<usize>,
    pub cooldown: HashSet<usize>,
}

/// The state of a timer.
enum TimerEnd {
    /// It runs, for this entry.
    Running(usize),
    /// It runs, but its entry is missing or has changed.
    Unapplied,
    /// It is removed.
    Dropped,
    /// It ended, for this entry.
    Elapsed(usize),
}

impl LoreTimers {
    /// Updates the timers for a number of messages and returns the running ones.
    ///
    /// `find` returns the list index of a `book.uid`; `entry` returns the durations of an entry.
    pub fn update(
        &mut self,
        messages: u64,
        find: impl Fn(&str) -> Option<usize>,
        entry: impl Fn(usize) -> Option<TimerDurations>,
    ) -> ActiveTimers {
        let mut running = ActiveTimers::default();
        let ends = |key: &str, timer: &LoreTimer, lasts: fn(&TimerDurations) -> u64| {
            if messages <= timer.start && !timer.protected {
                return TimerEnd::Dropped;
            }
            let is_over = messages >= timer.end;
            let own = find(key).and_then(|at| Some((at, entry(at)?))).filter(|(_, own)| own.hash == timer.hash);
            match own {
                None if is_over => TimerEnd::Dropped,
                None => TimerEnd::Unapplied,
                Some((_, own)) if lasts(&own) == 0 => TimerEnd::Dropped,
                Some((at, _)) if is_over => TimerEnd::Elapsed(at),
                Some((at, _)) => TimerEnd::Running(at),
            }
        };
        // Sticky timers first, because their end can start a cooldown.
        for (key, timer) in std::mem::take(&mut self.sticky) {
            match ends(&key, &timer, |own| own.sticky) {
                TimerEnd::Running(at) => _ = running.sticky.insert(at),
                TimerEnd::Unapplied => {}
                TimerEnd::Dropped => continue,
                TimerEnd::Elapsed(at) => {
                    // When sticky ends, the cooldown begins; it stays even if the story goes back.
                    if let Some(own) = entry(at).filter(|own| own.cooldown > 0) {
                        let end = messages.saturating_add(own.cooldown);
                        self.cooldown.insert(key, LoreTimer { hash: own.hash, start: messages, end, protected: true });
                    }
                    continue;
                }
            }
            self.sticky.insert(key, timer);
        }
        for (key, timer) in std::mem::take(&mut self.cooldown) {
            match ends(&key, &timer, |own| own.cooldown) {
                TimerEnd::Running(at) => _ = running.cooldown.insert(at),
                TimerEnd::Unapplied => {}
                TimerEnd::Dropped | TimerEnd::Elapsed(_) => continue,
            }
            self.cooldown.insert(key, timer);
        }
        running
    }

    /// Starts the timers of a newly active entry, unless they already run.
    pub fn start(&mut self, key: &str, own: &TimerDurations, messages: u64) {
        for (timers, lasts) in [(&mut self.sticky, own.sticky), (&mut self.cooldown, own.cooldown)] {
            if lasts > 0 && !timers.contains_key(key) {
                let end = messages.saturating_add(lasts);
                let timer = LoreTimer { hash: own.hash.clone(), start: messages, end, protected: false };
                timers.insert(key.to_owned(), timer);
            }
        }
    }
}

/// Sticky and cooldown durations of an entry, in messages.
#[derive(Debug, Clone)]
pub struct TimerDurations {
    hash: String,
    sticky: u64,
    cooldown: u64,
}

impl TimerDurations {
    /// Returns the durations of an entry.
    pub fn from_entry(entry: &LorebookEntry) -> Self {
        Self { hash: entry.hash.clone(), sticky: entry.sticky, cooldown: entry.cooldown }
    }
}
