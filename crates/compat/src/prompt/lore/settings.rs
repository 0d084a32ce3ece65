//! The house rules of a scan: as they are kept, and in the names of SillyTavern's settings.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::lenient_values::{choice, count, integer, to_number};

/// Whose entries come first, of the character and of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InsertionStrategy {
    /// All in one list.
    Evenly,
    /// The character's.
    #[default]
    CharacterFirst,
    /// Those for everything.
    GlobalFirst,
}

/// When entries are called up because they fit what was said, without any of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SimilaritySettings {
    /// At most so many entries at once; 0 = none.
    pub entries: usize,
    /// They have to fit the last so many messages.
    pub messages: usize,
    /// How near the vectors have to be, in hundredths.
    pub threshold: u8,
    /// Not only entries that say so themselves (`vectorized`).
    pub all: bool,
}

impl Default for SimilaritySettings {
    fn default() -> Self {
        Self { entries: 5, messages: 2, threshold: 25, all: false }
    }
}

/// The fields that are numbers, each with the least and the most that may stand there.
const BOUNDS: [(&str, u32, u32); 9] = [
    ("scanDepth", 0, 1_000),
    ("minActivations", 0, 1_000),
    ("minActivationsDepth", 0, 1_000),
    ("budgetPercent", 0, 100),
    ("budgetCap", 0, 10_000_000),
    ("maxRecursionSteps", 0, 1_000),
    ("similar.entries", 0, 100),
    ("similar.messages", 1, 100),
    ("similar.threshold", 0, 100),
];

/// The house rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorldInfoSettings {
    /// How many messages are looked at.
    #[serde(rename = "scanDepth")]
    pub depth: i64,
    /// As long as fewer entries are active, older messages are looked at.
    pub min_activations: usize,
    /// But no more than so many; 0 = all.
    pub min_activations_depth: i64,
    /// The share of the prompt that lore may take, in hundredths.
    #[serde(rename = "budgetPercent")]
    pub budget: f64,
    /// But no more tokens than this; 0 = no such limit.
    pub budget_cap: usize,
    /// Messages are looked at with the names of their speakers.
    #[serde(rename = "includeNames")]
    pub includes_names: bool,
    /// Texts of entries call up others.
    pub recursive: bool,
    /// Capitals count.
    pub case_sensitive: bool,
    /// Keys of one word are not found inside of others.
    #[serde(rename = "matchWholeWords")]
    pub whole_words: bool,
    /// Whose entries come first.
    pub strategy: InsertionStrategy,
    /// In a group the one with the most keys wins.
    pub group_scoring: bool,
    /// At most so many passes; 0 = no such limit.
    #[serde(rename = "maxRecursionSteps")]
    pub max_passes: usize,
    /// Who is called up without a key.
    pub similar: SimilaritySettings,
    /// An entry that loses in two groups takes another one with it, as in SillyTavern. Off: an entry that is in no
    /// group must not vanish because of others.
    #[serde(skip)]
    pub removes_twice: bool,
}

impl Default for WorldInfoSettings {
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
            strategy: InsertionStrategy::default(),
            group_scoring: false,
            max_passes: 0,
            similar: SimilaritySettings::default(),
            removes_twice: false,
        }
    }
}

impl WorldInfoSettings {
    /// As they are kept; as they are shipped where nothing is kept, or what is kept cannot be read.
    pub fn from_stored(kept: Option<Map<String, Value>>) -> Self {
        kept.and_then(|kept| serde_json::from_value(Value::Object(kept)).ok()).unwrap_or_default()
    }

    /// What is kept of them.
    pub fn to_stored(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(kept)) => kept,
            _ => Map::new(),
        }
    }

    /// Reads them from settings in SillyTavern's names; what is left out is as it is by default.
    pub fn from_sillytavern(said: &Map<String, Value>) -> Self {
        const MOST: u32 = 1_000_000_000;
        let own = Self::default();
        let get = |name: &str| said.get(&format!("world_info_{name}"));
        let many = |name: &str, own: usize| count(get(name), MOST).and_then(|n| usize::try_from(n).ok()).unwrap_or(own);
        let truth = |name: &str, own: bool| choice(get(name)).unwrap_or(own);
        Self {
            depth: integer(get("depth"), MOST).unwrap_or(own.depth),
            min_activations: many("min_activations", own.min_activations),
            min_activations_depth: integer(get("min_activations_depth_max"), MOST).unwrap_or(own.min_activations_depth),
            budget: to_number(get("budget")).unwrap_or(own.budget),
            budget_cap: many("budget_cap", own.budget_cap),
            includes_names: truth("include_names", own.includes_names),
            recursive: truth("recursive", own.recursive),
            case_sensitive: truth("case_sensitive", own.case_sensitive),
            whole_words: truth("match_whole_words", own.whole_words),
            strategy: match integer(get("character_strategy"), MOST) {
                Some(0) => InsertionStrategy::Evenly,
                Some(2) => InsertionStrategy::GlobalFirst,
                _ => InsertionStrategy::CharacterFirst,
            },
            group_scoring: truth("use_group_scoring", own.group_scoring),
            max_passes: many("max_recursion_steps", own.max_passes),
            similar: own.similar,
            removes_twice: own.removes_twice,
        }
    }

    /// Takes what SillyTavern's extension for vectors says of world info.
    #[must_use]
    pub fn with_sillytavern_vectors(mut self, said: &Map<String, Value>) -> Self {
        let many =
            |name: &str, own: usize| count(said.get(name), 1_000).and_then(|n| usize::try_from(n).ok()).unwrap_or(own);
        let own = self.similar;
        let is_on = choice(said.get("enabled_world_info")).unwrap_or(true);
        let hundredths = to_number(said.get("score_threshold")).map(|share| (share * 100.0).round().clamp(0.0, 100.0));
        self.similar = SimilaritySettings {
            entries: if is_on { many("max_entries", own.entries) } else { 0 },
            messages: many("query", own.messages),
            threshold: hundredths.and_then(|share| format!("{share:.0}").parse().ok()).unwrap_or(own.threshold),
            all: choice(said.get("enabled_for_all")).unwrap_or(own.all),
        };
        self
    }

    /// In SillyTavern's names: what [`WorldInfoSettings::read`] reads, and what [`WorldInfoSettings::with_sillytavern_vectors`] does.
    pub fn written(&self) -> (Map<String, Value>, Map<String, Value>) {
        let strategy = match self.strategy {
            InsertionStrategy::Evenly => 0,
            InsertionStrategy::CharacterFirst => 1,
            InsertionStrategy::GlobalFirst => 2,
        };
        let rules = [
            ("depth", json!(self.depth)),
            ("min_activations", json!(self.min_activations)),
            ("min_activations_depth_max", json!(self.min_activations_depth)),
            ("budget", integer_if_whole(self.budget)),
            ("budget_cap", json!(self.budget_cap)),
            ("include_names", json!(self.includes_names)),
            ("recursive", json!(self.recursive)),
            ("case_sensitive", json!(self.case_sensitive)),
            ("match_whole_words", json!(self.whole_words)),
            ("character_strategy", json!(strategy)),
            ("use_group_scoring", json!(self.group_scoring)),
            ("max_recursion_steps", json!(self.max_passes)),
        ];
        let SimilaritySettings { entries, messages, threshold, all } = self.similar;
        let vectors = [
            ("enabled_world_info", json!(entries > 0)),
            ("max_entries", json!(if entries > 0 { entries } else { SimilaritySettings::default().entries })),
            ("query", json!(messages)),
            ("score_threshold", json!(f64::from(threshold) / 100.0)),
            ("enabled_for_all", json!(all)),
        ];
        let rules = rules.into_iter().map(|(name, value)| (format!("world_info_{name}"), value)).collect();
        (rules, vectors.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// What does not fit, by the name of its field, with the least and the most that may stand there.
    pub fn out_of_bounds(&self) -> Option<(&'static str, u32, u32)> {
        let depth = |depth: i64| f64::from(i32::try_from(depth).unwrap_or(i32::MAX));
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        BOUNDS
            .iter()
            .zip([
                depth(self.depth),
                count(self.min_activations),
                depth(self.min_activations_depth),
                self.budget,
                count(self.budget_cap),
                count(self.max_passes),
                count(self.similar.entries),
                count(self.similar.messages),
                f64::from(self.similar.threshold),
            ])
            .find(|((_, least, most), value)| !(f64::from(*least)..=f64::from(*most)).contains(value))
            .map(|(bound, _)| *bound)
    }

    /// The same within bounds: of files of strangers only what may stand here comes in.
    #[must_use]
    pub fn clamped(self) -> Self {
        let own = Self::default();
        let most = |name: &str| BOUNDS.iter().find(|(field, ..)| *field == name).map_or(0, |(.., most)| *most);
        let many = |value: usize, name: &str| value.min(usize::try_from(most(name)).unwrap_or(usize::MAX));
        let deep = |value: i64, name: &str| value.clamp(0, i64::from(most(name)));
        Self {
            depth: deep(self.depth, "scanDepth"),
            min_activations: many(self.min_activations, "minActivations"),
            min_activations_depth: deep(self.min_activations_depth, "minActivationsDepth"),
            budget: if self.budget.is_finite() { self.budget.clamp(0.0, 100.0) } else { own.budget },
            budget_cap: many(self.budget_cap, "budgetCap"),
            max_passes: many(self.max_passes, "maxRecursionSteps"),
            similar: SimilaritySettings {
                entries: many(self.similar.entries, "similar.entries"),
                messages: many(self.similar.messages, "similar.messages").max(1),
                threshold: self.similar.threshold.min(100),
                ..self.similar
            },
            ..self
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

/// A number as it is written: without a point where it is a whole one.
fn integer_if_whole(number: f64) -> Value {
    let text = format!("{number}");
    text.parse::<i64>().map_or_else(|_| json!(number), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    /// Formats 2b: what comes in from SillyTavern goes out as it came.
    #[test]
    fn lore_settings_sillytavern_round_trip_is_equal() {
        let rules = object(json!({
            "world_info_depth": 7, "world_info_min_activations": 1, "world_info_min_activations_depth_max": 9,
            "world_info_budget": 40, "world_info_budget_cap": 900, "world_info_include_names": false,
            "world_info_recursive": false, "world_info_case_sensitive": true, "world_info_match_whole_words": false,
            "world_info_character_strategy": 2, "world_info_use_group_scoring": true, "world_info_max_recursion_steps": 3,
        }));
        let vectors = object(json!({
            "enabled_world_info": true, "max_entries": 8, "query": 3, "score_threshold": 0.4, "enabled_for_all": true,
        }));
        let read = WorldInfoSettings::from_sillytavern(&rules).with_sillytavern_vectors(&vectors);
        assert_eq!((read.out_of_bounds(), &read.clone().clamped()), (None, &read));
        assert_eq!(read.written(), (rules, vectors));
        let kept: WorldInfoSettings = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
        assert_eq!(kept, read);
        assert_eq!(WorldInfoSettings::default().out_of_bounds(), None);
        let off = WorldInfoSettings::default().with_sillytavern_vectors(&object(json!({"enabled_world_info": false})));
        assert_eq!((off.similar.entries, off.written().1["max_entries"].clone()), (0, json!(5)));
    }

    /// Bad input: whatever a file says, what comes in may stand here.
    #[test]
    fn lore_settings_out_of_bounds_are_clamped() {
        for odd in [json!(-5), json!(1e300), json!("nonsense"), json!([]), json!(null), json!(5.5)] {
            let names = [
                "depth",
                "min_activations",
                "min_activations_depth_max",
                "budget",
                "budget_cap",
                "max_recursion_steps",
            ];
            let rules = names.iter().map(|name| (format!("world_info_{name}"), odd.clone())).collect();
            let vectors = ["max_entries", "query", "score_threshold"].map(|name| (name.to_owned(), odd.clone()));
            let read = WorldInfoSettings::from_sillytavern(&rules)
                .with_sillytavern_vectors(&vectors.into_iter().collect())
                .clamped();
            assert_eq!(read.out_of_bounds(), None, "{odd}: {read:?}");
        }
        let wrong = WorldInfoSettings { depth: 1_001, ..WorldInfoSettings::default() };
        assert_eq!(wrong.out_of_bounds(), Some(("scanDepth", 0, 1_000)));
        let wrong = WorldInfoSettings {
            similar: SimilaritySettings { messages: 0, ..SimilaritySettings::default() },
            ..WorldInfoSettings::default()
        };
        assert_eq!(wrong.out_of_bounds(), Some(("similar.messages", 1, 100)));
    }
}
