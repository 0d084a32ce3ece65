//! World info settings: as stored, and under SillyTavern's names.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::lenient_values::{count, integer, optional_bool, to_number};

/// Whether the entries of character books or of global books come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InsertionStrategy {
    /// In one list, sorted by order.
    Evenly,
    /// Character books first.
    #[default]
    CharacterFirst,
    /// Global books first.
    GlobalFirst,
}

/// Settings for entries that match by content, without a key.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SimilaritySettings {
    /// Largest number of such entries; 0 = none.
    pub entries: usize,
    /// Number of recent messages they are compared with.
    pub messages: usize,
    /// Minimum similarity of vectors, in percent.
    pub threshold: u8,
    /// All entries, not only `vectorized` ones.
    pub all: bool,
}

impl Default for SimilaritySettings {
    fn default() -> Self {
        Self { entries: 5, messages: 2, threshold: 25, all: false }
    }
}

/// Numeric fields with their minimum and maximum.
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

/// The world info settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorldInfoSettings {
    /// Number of messages scanned.
    #[serde(rename = "scanDepth")]
    pub depth: i64,
    /// Minimum number of active entries; with fewer, older messages are scanned.
    pub min_activations: usize,
    /// Largest depth for that; 0 = all messages.
    pub min_activations_depth: i64,
    /// Share of the prompt that lore may take, in percent.
    #[serde(rename = "budgetPercent")]
    pub budget: f64,
    /// Token limit for lore; 0 = none.
    pub budget_cap: usize,
    /// Messages are scanned with the speaker's name.
    #[serde(rename = "includeNames")]
    pub includes_names: bool,
    /// Texts of active entries can activate others.
    pub recursive: bool,
    pub case_sensitive: bool,
    /// Single-word keys must match whole words.
    #[serde(rename = "matchWholeWords")]
    pub whole_words: bool,
    pub strategy: InsertionStrategy,
    /// The entry with the most matching keys wins its group.
    pub group_scoring: bool,
    /// Largest number of passes; 0 = no limit.
    #[serde(rename = "maxRecursionSteps")]
    pub max_passes: usize,
    pub similar: SimilaritySettings,
    /// An entry that loses in two groups removes another one too, as in SillyTavern. Off by default: an entry without a
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
    /// Reads stored settings; the defaults if there are none or they are invalid.
    pub fn from_stored(stored: Option<Map<String, Value>>) -> Self {
        stored.and_then(|stored| serde_json::from_value(Value::Object(stored)).ok()).unwrap_or_default()
    }

    /// Returns the settings as JSON for storage.
    pub fn to_stored(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(stored)) => stored,
            _ => Map::new(),
        }
    }

    /// Reads SillyTavern's settings; missing fields get the defaults.
    pub fn from_sillytavern(settings: &Map<String, Value>) -> Self {
        const MOST: u32 = 1_000_000_000;
        let own = Self::default();
        let get = |name: &str| settings.get(&format!("world_info_{name}"));
        let many = |name: &str, own: usize| count(get(name), MOST).and_then(|n| usize::try_from(n).ok()).unwrap_or(own);
        let truth = |name: &str, own: bool| optional_bool(get(name)).unwrap_or(own);
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

    /// Applies the world info settings of SillyTavern's vectors extension.
    #[must_use]
    pub fn with_sillytavern_vectors(mut self, settings: &Map<String, Value>) -> Self {
        let many = |name: &str, own: usize| {
            count(settings.get(name), 1_000).and_then(|n| usize::try_from(n).ok()).unwrap_or(own)
        };
        let own = self.similar;
        let is_on = optional_bool(settings.get("enabled_world_info")).unwrap_or(true);
        let hundredths =
            to_number(settings.get("score_threshold")).map(|share| (share * 100.0).round().clamp(0.0, 100.0));
        self.similar = SimilaritySettings {
            entries: if is_on { many("max_entries", own.entries) } else { 0 },
            messages: many("query", own.messages),
            threshold: hundredths.and_then(|share| format!("{share:.0}").parse().ok()).unwrap_or(own.threshold),
            all: optional_bool(settings.get("enabled_for_all")).unwrap_or(own.all),
        };
        self
    }

    /// Returns the settings under SillyTavern's names, for [`WorldInfoSettings::from_sillytavern`] and
    /// [`WorldInfoSettings::with_sillytavern_vectors`].
    pub fn to_sillytavern(&self) -> (Map<String, Value>, Map<String, Value>) {
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

    /// Returns the first field that is out of range, with its minimum and maximum.
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

    /// Clamps all fields to their ranges, for settings from imported files.
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

    /// Returns the token limit for lore in a prompt of `prompt` tokens; at least 1.
    pub fn budget_tokens(&self, prompt: usize) -> usize {
        let share = f64::from(u32::try_from(prompt).unwrap_or(u32::MAX)) * self.budget / 100.0;
        // Convert through the decimal digits, to avoid a lossy float cast.
        let tokens = format!("{:.0}", (share + 0.5).floor()).parse::<usize>().unwrap_or(0).max(1);
        if self.budget_cap > 0 { tokens.min(self.budget_cap) } else { tokens }
    }
}

/// Converts a number to JSON, without a decimal point if it is whole.
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

    /// Formats 2b: imported SillyTavern settings are exported unchanged.
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
        assert_eq!(read.to_sillytavern(), (rules, vectors));
        let stored: WorldInfoSettings = serde_json::from_value(serde_json::to_value(&read).unwrap()).unwrap();
        assert_eq!(stored, read);
        assert_eq!(WorldInfoSettings::default().out_of_bounds(), None);
        let off = WorldInfoSettings::default().with_sillytavern_vectors(&object(json!({"enabled_world_info": false})));
        assert_eq!((off.similar.entries, off.to_sillytavern().1["max_entries"].clone()), (0, json!(5)));
    }

    /// Bad input: any imported settings end up within bounds.
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
