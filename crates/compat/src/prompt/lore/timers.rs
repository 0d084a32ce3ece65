//! What lasts: entries that stay for a while, and those that rest.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::entry::LorebookEntry;

/// A time, in visible messages of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoreTimer {
    /// The entry as it was; a changed one is another.
    pub hash: String,
    /// How many messages there were when it began.
    pub start: u64,
    /// With so many it is over.
    pub end: u64,
    /// It holds although the story went back.
    pub protected: bool,
}

/// The times that run, by `book.uid`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoreTimers {
    /// Entries that stay.
    pub sticky: BTreeMap<String, LoreTimer>,
    /// Entries that rest.
    pub cooldown: BTreeMap<String, LoreTimer>,
}

/// Entries for which a time runs now, as places in the list of entries.
#[derive(Debug, Default)]
pub struct ActiveTimers {
    /// Those that stay.
    pub sticky: HashSet<usize>,
    /// Those that rest.
    pub cooldown: HashSet<usize>,
}

/// What a timer's time is over for.
enum TimerEnd {
    /// It goes on; the entry is this one.
    Running(usize),
    /// It goes on for an entry that is another now.
    Unapplied,
    /// It is gone.
    Dropped,
    /// It ran out for this entry.
    Elapsed(usize),
}

impl LoreTimers {
    /// Drops what is over with so many messages, lets the rest begin, and tells what runs. `find` knows the place of an
    /// entry by its `book.uid`.
    pub fn run(
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
        for (key, timer) in std::mem::take(&mut self.sticky) {
            match ends(&key, &timer, |own| own.sticky) {
                TimerEnd::Running(at) => _ = running.sticky.insert(at),
                TimerEnd::Unapplied => {}
                TimerEnd::Dropped => continue,
                TimerEnd::Elapsed(at) => {
                    // What stayed long enough rests from now on, even if the story goes back.
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

    /// An entry became active: its times begin, unless some run already.
    pub fn begin(&mut self, key: &str, own: &TimerDurations, messages: u64) {
        for (timers, lasts) in [(&mut self.sticky, own.sticky), (&mut self.cooldown, own.cooldown)] {
            if lasts > 0 && !timers.contains_key(key) {
                let end = messages.saturating_add(lasts);
                let timer = LoreTimer { hash: own.hash.clone(), start: messages, end, protected: false };
                timers.insert(key.to_owned(), timer);
            }
        }
    }
}

/// How long an entry stays and rests.
#[derive(Debug, Clone)]
pub struct TimerDurations {
    hash: String,
    sticky: u64,
    cooldown: u64,
}

impl TimerDurations {
    /// Those of an entry.
    pub fn from_entry(entry: &LorebookEntry) -> Self {
        Self { hash: entry.hash.clone(), sticky: entry.sticky, cooldown: entry.cooldown }
    }
}
