//! The house rules of a scan, in the names of SillyTavern's settings.

use serde_json::{Map, Value};

use super::value::{choice, count, number, whole};

/// Whose entries come first, of the character and of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// All in one list.
    Evenly,
    /// The character's.
    #[default]
    CharacterFirst,
    /// Those for everything.
    GlobalFirst,
}

/// The house rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many messages are looked at.
    pub depth: i64,
    /// As long as fewer entries are active, older messages are looked at.
    pub min_activations: usize,
    /// But no more than so many; 0 = all.
    pub min_activations_depth: i64,
    /// The share of the prompt that lore may take, in hundredths.
    pub budget: f64,
    /// But no more tokens than this; 0 = no such limit.
    pub budget_cap: usize,
    /// Messages are looked at with the names of their speakers.
    pub includes_names: bool,
    /// Texts of entries call up others.
    pub recursive: bool,
    /// Capitals count.
    pub case_sensitive: bool,
    /// Keys of one word are not found inside of others.
    pub whole_words: bool,
    /// Whose entries come first.
    pub strategy: Strategy,
    /// In a group the one with the most keys wins.
    pub group_scoring: bool,
    /// At most so many passes; 0 = no such limit.
    pub max_passes: usize,
    /// An entry that loses in two groups takes another one with it, as in SillyTavern. Off: an entry that is in no group must
    /// not vanish because of others.
    pub removes_twice: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            depth: 2,
            min_activations: 0,
            min_activations_depth: 0,
            budget: 25.0,
            budget_cap: 0,
            includes_names: true,
            recursive: true,
            case_sensitive: false,
            whole_words: true,
            strategy: Strategy::default(),
            group_scoring: false,
            max_passes: 0,
            removes_twice: false,
        }
    }
}

impl Settings {
    /// Reads them from settings in SillyTavern's names; what is left out is as it is by default.
    pub fn read(said: &Map<String, Value>) -> Self {
        const MOST: u32 = 1_000_000_000;
        let own = Self::default();
        let get = |name: &str| said.get(&format!("world_info_{name}"));
        let many = |name: &str, own: usize| count(get(name), MOST).and_then(|n| usize::try_from(n).ok()).unwrap_or(own);
        let truth = |name: &str, own: bool| choice(get(name)).unwrap_or(own);
        Self {
            depth: whole(get("depth"), MOST).unwrap_or(own.depth),
            min_activations: many("min_activations", own.min_activations),
            min_activations_depth: whole(get("min_activations_depth_max"), MOST).unwrap_or(own.min_activations_depth),
            budget: number(get("budget")).unwrap_or(own.budget),
            budget_cap: many("budget_cap", own.budget_cap),
            includes_names: truth("include_names", own.includes_names),
            recursive: truth("recursive", own.recursive),
            case_sensitive: truth("case_sensitive", own.case_sensitive),
            whole_words: truth("match_whole_words", own.whole_words),
            strategy: match whole(get("character_strategy"), MOST) {
                Some(0) => Strategy::Evenly,
                Some(2) => Strategy::GlobalFirst,
                _ => Strategy::CharacterFirst,
            },
            group_scoring: truth("use_group_scoring", own.group_scoring),
            max_passes: many("max_recursion_steps", own.max_passes),
            removes_twice: own.removes_twice,
        }
    }

    /// The tokens that lore may take of a prompt: at least one.
    pub fn tokens(&self, prompt: usize) -> usize {
        let share = f64::from(u32::try_from(prompt).unwrap_or(u32::MAX)) * self.budget / 100.0;
        // By way of its digits: the rounding of a positive number to a whole one.
        let tokens = format!("{:.0}", (share + 0.5).floor()).parse::<usize>().unwrap_or(0).max(1);
        if self.budget_cap > 0 { tokens.min(self.budget_cap) } else { tokens }
    }
}
