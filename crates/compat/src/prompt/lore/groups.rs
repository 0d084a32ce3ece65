//! Inclusion groups: at most one entry of each is active.

use std::collections::{HashMap, HashSet};

use super::entry::LorebookEntry;
use super::settings::WorldInfoSettings;
use super::timers::ActiveTimers;
use super::verdict::GroupLoss;

/// The candidates of one pass, and those that lost.
pub struct GroupContest<'a, F> {
    entry: F,
    places: HashMap<usize, usize>,
    /// Remaining candidates in order; `None` = lost.
    remaining: Vec<Option<usize>>,
    lost: Vec<(usize, GroupLoss)>,
    groups: Vec<(String, Vec<usize>)>,
    settings: &'a WorldInfoSettings,
}

impl<'a, F: Fn(usize) -> Option<&'a LorebookEntry>> GroupContest<'a, F> {
    /// Creates a contest among candidates, in their order.
    pub fn new(candidates: &[usize], entry: F, settings: &'a WorldInfoSettings) -> Self {
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        for at in candidates {
            for name in entry(*at).map(|entry| entry.groups.as_slice()).unwrap_or_default() {
                let group = *known.entry(name).or_insert_with(|| {
                    groups.push((name.clone(), Vec::new()));
                    groups.len() - 1
                });
                groups.get_mut(group).into_iter().for_each(|(_, members)| members.push(*at));
            }
        }
        // JavaScript object order: whole-number names come first, sorted.
        groups.sort_by_key(|(name, _)| {
            name.parse::<u32>().ok().filter(|n| n.to_string() == *name).map_or(u64::MAX, u64::from)
        });
        let places = candidates.iter().enumerate().map(|(place, at)| (*at, place)).collect();
        let remaining = candidates.iter().copied().map(Some).collect();
        Self { entry, places, remaining, lost: Vec::new(), groups, settings }
    }

    /// Resolves the groups; returns the remaining entries in order, and how the others lost.
    ///
    /// Sticky entries win first, then those with the highest score. In the remaining groups the winner is the entry
    /// that is already active, the one with priority, or a randomly drawn one.
    pub fn resolve(
        mut self,
        running: &ActiveTimers,
        active: &[usize],
        score: impl FnMut(usize) -> usize,
        draw: impl FnMut() -> f64,
    ) -> (Vec<usize>, Vec<(usize, GroupLoss)>) {
        if !self.groups.is_empty() {
            let mut groups = std::mem::take(&mut self.groups);
            let settled = self.resolve_by_timers(&groups, running);
            self.resolve_by_score(&mut groups, &settled, score);
            self.resolve_rest(&groups, &settled, active, draw);
        }
        (self.remaining.into_iter().flatten().collect(), self.lost)
    }

    /// Returns which groups have a sticky entry; their other entries lose. An entry in cooldown loses even if it is
    /// sticky.
    fn resolve_by_timers(&mut self, groups: &[(String, Vec<usize>)], running: &ActiveTimers) -> Vec<bool> {
        let ActiveTimers { sticky, cooldown } = running;
        let mut settled = Vec::with_capacity(groups.len());
        for (_, members) in groups {
            let stays = members.iter().any(|at| sticky.contains(at));
            if stays {
                members.iter().filter(|at| !sticky.contains(at)).for_each(|at| self.remove(*at, GroupLoss::Sticky));
            }
            members.iter().filter(|at| cooldown.contains(at)).for_each(|at| self.remove(*at, GroupLoss::Cooldown));
            settled.push(stays);
        }
        settled
    }

    /// Keeps only the entries with the highest score, among those that use scoring.
    fn resolve_by_score(
        &mut self,
        groups: &mut [(String, Vec<usize>)],
        settled: &[bool],
        mut score: impl FnMut(usize) -> usize,
    ) {
        for ((_, members), _) in groups.iter_mut().zip(settled).filter(|(_, settled)| !**settled) {
            let competes =
                |at: usize| (self.entry)(at).and_then(|entry| entry.scoring).unwrap_or(self.settings.group_scoring);
            if !members.iter().any(|at| competes(*at)) {
                continue;
            }
            let scores: Vec<usize> = members.iter().map(|at| score(*at)).collect();
            let most = scores.iter().copied().max().unwrap_or(0);
            let (mut stay, mut go) = (Vec::new(), Vec::new());
            for (at, own) in members.iter().zip(scores) {
                if own < most && competes(*at) { go.push(*at) } else { stay.push(*at) }
            }
            go.into_iter().for_each(|at| self.remove(at, GroupLoss::Score));
            *members = stay;
        }
    }

    fn resolve_rest(
        &mut self,
        groups: &[(String, Vec<usize>)],
        settled: &[bool],
        active: &[usize],
        mut draw: impl FnMut() -> f64,
    ) {
        // An active entry counts for a group only if its whole `group` field equals the name. An entry of two groups
        // therefore counts for neither.
        let taken: HashSet<String> =
            active.iter().filter_map(|at| (self.entry)(*at)).map(|entry| entry.group.clone()).collect();
        for ((name, members), _) in groups.iter().zip(settled).filter(|(_, settled)| !**settled) {
            if taken.contains(name) {
                members.iter().for_each(|at| self.remove(*at, GroupLoss::Taken));
            } else if members.len() > 1 {
                self.resolve_group(members, &mut draw);
            }
        }
    }

    fn resolve_group(&mut self, members: &[usize], draw: &mut impl FnMut() -> f64) {
        let first =
            members.iter().filter_map(|at| Some((*at, (self.entry)(*at).filter(|entry| entry.has_priority)?.order)));
        // The highest order wins; on a tie the first entry.
        let first = first.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let (winner, how) = match first {
            Some((at, _)) => (Some(at), GroupLoss::Priority),
            None => (self.draw_by_weight(members, draw), GroupLoss::Drawn),
        };
        if let Some(winner) = winner {
            members.iter().filter(|at| **at != winner).for_each(|at| self.remove(*at, how));
        }
    }

    fn draw_by_weight(&self, members: &[usize], draw: &mut impl FnMut() -> f64) -> Option<usize> {
        let weight = |at: usize| (self.entry)(at).map_or(0.0, |entry| entry.weight);
        let wanted = draw() * members.iter().map(|at| weight(*at)).sum::<f64>();
        let mut sum = 0.0;
        members.iter().copied().find(|at| {
            sum += weight(*at);
            wanted <= sum
        })
    }

    fn remove(&mut self, at: usize, how: GroupLoss) {
        let place = self.places.get(&at).and_then(|place| self.remaining.get_mut(*place));
        if place.and_then(Option::take).is_some() {
            self.lost.push((at, how));
        } else if self.settings.removes_twice {
            let last = self.remaining.iter_mut().rev().find(|place| place.is_some());
            self.lost.extend(last.and_then(Option::take).map(|at| (at, GroupLoss::RemovedTwice)));
        }
    }
}
