//! The values of macros at a snapshot, and what happens to the variables that they write (`docs/domain.md` 6.4).
//!
//! Everything comes from the snapshot, so that a preview and the request after it are the same. The time is that of the
//! answered message, in the time zone that the messages record. Random numbers are seeded by the session, that message
//! and the number of the reply. Variables are a copy of the world there. What the parts of a prompt and the new message
//! write becomes operations of the reply, so another reply to the same message starts from the same values.

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use clotho_compat::prompt::lore::LoreAudience;
use clotho_compat::prompt::macros::{MacroContext, MacroEngine, MacroHistory, MacroTime};
use clotho_compat::prompt::{PromptCast, PromptTokenLimits};
use clotho_config::{GenerationConfig, parse_time_zone};
use clotho_core::clock::{SplitMix64, Time};
use clotho_core::ids::{NodeId, UserId};
use clotho_core::tree::{Node, Role};
use clotho_core::world::{self, Pointer, SchemaSet, StateChange, StateOperation, World, diff};
use clotho_store::{StoreError, StoreReader};

use super::note;
use crate::turn::rules::hooks::SERVER;
use crate::turn::snapshot::TurnSnapshot;

/// The kind of presets that hold global variables.
const VARIABLES: &str = "variables";
/// The reason given in operations of macros.
const WHY: &str = "a macro in the prompt";
/// The reason given in operations of the macros of a greeting.
const WHY_GREETING: &str = "a macro in the greeting";
/// Bytes of the variables that the macros of one prompt may write to the state; a card must not fill the disk.
const MAX_WRITTEN_BYTES: usize = 256 << 10;
/// The variable of a state that holds what macros wrote to global variables on its branch.
const BRANCH_GLOBALS: &str = "$global";

/// The kind of text that the model should write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GenerationTask {
    /// A reply.
    Reply,
    /// More of a reply that begins with this text. `from` is the reply whose text it is.
    Continue { text: String, from: Option<NodeId> },
    /// The user's next message.
    Impersonate,
}

/// The purpose of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPurpose {
    pub generation_task: GenerationTask,
    /// The number of the reply among its siblings, from 0. Each has its own random numbers.
    pub number: usize,
}

impl PromptPurpose {
    /// The first reply to a message.
    pub const FIRST: Self = Self { generation_task: GenerationTask::Reply, number: 0 };

    /// Returns the audience of lore. One call writes both the story and its values, except for impersonation.
    pub const fn values_call(&self) -> LoreAudience {
        match self.generation_task {
            GenerationTask::Reply | GenerationTask::Continue { .. } => LoreAudience::StoryAndValues,
            GenerationTask::Impersonate => LoreAudience::Story,
        }
    }

    /// Returns the generation type: `normal`, `swipe`, `continue` or `impersonate`.
    pub const fn name(&self) -> &'static str {
        match self.generation_task {
            GenerationTask::Continue { .. } => "continue",
            GenerationTask::Impersonate => "impersonate",
            GenerationTask::Reply if self.number > 0 => "swipe",
            GenerationTask::Reply => "normal",
        }
    }
}

/// Returns the values of macros at a snapshot, for a model and the time zone of people whose messages record none.
pub fn macro_facts(
    snapshot: &TurnSnapshot,
    sizes: PromptTokenLimits,
    (model, usual_zone): (&str, &str),
    purpose: &PromptPurpose,
) -> MacroContext {
    let at = &snapshot.at.node;
    MacroContext {
        history: MacroHistory { version: swipe_position(purpose), ..last_messages(snapshot, purpose) },
        time: MacroTime { ms: at.created.0, zone: zone_at(snapshot, usual_zone) },
        token_limits: sizes,
        model: model.to_owned(),
        note: note::merged_note(snapshot.session(), &snapshot.cast).text,
        summary: snapshot.world.summary.clone(),
        generation_type: purpose.name().to_owned(),
        seed: snapshot.session().seed,
        ..snapshot.cast.macro_context()
    }
}

/// Returns the time zone of the people at a snapshot: that of the newest message which records one, else `usual`.
pub fn zone_at(snapshot: &TurnSnapshot, usual: &str) -> TimeZone {
    let nodes = snapshot.page.nodes.iter().rev();
    let recorded = nodes.map(|placed| &placed.node.metadata).find_map(|metadata| metadata.time_zone.as_deref());
    zone_or_usual(recorded, usual)
}

/// Returns the time zone of a request, else `usual`, else UTC.
pub fn zone_or_usual(asked: Option<&str>, usual: &str) -> TimeZone {
    asked.and_then(parse_time_zone).or_else(|| parse_time_zone(usual)).unwrap_or(TimeZone::UTC)
}

/// Returns what a message records as its time zone, so that prompts stay the same when the setting changes.
pub fn recorded_zone(asked: Option<String>, usual: &str) -> Option<String> {
    asked.or_else(|| (usual != "UTC").then(|| usual.to_owned()))
}

/// Returns the number of the reply, from 1, and the number of earlier siblings; `None` for the first reply.
fn swipe_position(purpose: &PromptPurpose) -> Option<(u64, u64)> {
    let before = u64::try_from(purpose.number).ok().filter(|before| *before > 0)?;
    Some((before + 1, before))
}

/// Reads the global variables of a user, without what macros wrote to them on a branch.
///
/// # Errors
/// Returns an error if the database fails.
pub fn globals(reader: &mut StoreReader<'_>, owner: UserId) -> Result<Map<String, Value>, StoreError> {
    let kept = reader.preset_bodies(owner, VARIABLES)?.all.into_iter();
    Ok(kept.filter_map(|body| if let Value::Object(body) = body { Some(body) } else { None }).flatten().collect())
}

/// Returns global variables as a branch sees them: with what macros wrote to them there.
pub fn globals_on_branch(stored: Map<String, Value>, world: &World) -> Map<String, Value> {
    let mut seen = stored;
    if let Some(Value::Object(own)) = world.vars.get(BRANCH_GLOBALS) {
        seen.extend(own.clone());
        // Null stands for a removed variable.
        seen.retain(|_, value| !value.is_null());
    }
    seen
}

/// Returns the last messages of a prompt: those of the branch, and a reply that is continued.
fn last_messages(snapshot: &TurnSnapshot, purpose: &PromptPurpose) -> MacroHistory {
    let sent = || snapshot.page.nodes.iter().rev().map(|placed| &placed.node).filter(|node| node.is_in_prompt());
    let text = |found: Option<&Node>| found.map(|node| node.content.clone()).unwrap_or_default();
    let is = |role: Role| move |node: &&Node| node.role == role;
    let spoke = |newest: usize| sent().skip(newest).find(is(Role::User)).map(|node| node.created.0);
    let last_user = text(sent().find(is(Role::User)));
    if let GenerationTask::Continue { text, .. } = &purpose.generation_task {
        return MacroHistory {
            last: text.clone(),
            last_user,
            last_character: text.clone(),
            last_id: u64::try_from(snapshot.at.node.depth).ok(),
            user_spoke: spoke(0),
            ..MacroHistory::default()
        };
    }
    MacroHistory {
        last: text(sent().next()),
        last_user,
        last_character: text(sent().find(is(Role::Assistant))),
        // The root does not count as a message.
        last_id: sent().next().and_then(|node| u64::try_from(node.depth).ok()?.checked_sub(1)),
        user_spoke: spoke(1),
        ..MacroHistory::default()
    }
}

/// Returns the random numbers of one reply at a snapshot.
pub fn seeded_random(snapshot: &TurnSnapshot, purpose: &PromptPurpose) -> impl FnMut() -> f64 + use<> {
    seeded_random_for(snapshot, purpose, "")
}

/// Like [`seeded_random`], with a separate sequence for `who`, so that its draws do not shift those of others.
pub fn seeded_random_for(snapshot: &TurnSnapshot, purpose: &PromptPurpose, who: &str) -> impl FnMut() -> f64 + use<> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&snapshot.session().seed.to_le_bytes());
    hasher.update(&snapshot.at.node.turn.to_le_bytes());
    hasher.update(&purpose.number.to_le_bytes());
    hasher.update(snapshot.last_message.0.as_bytes());
    hasher.update(who.as_bytes());
    random_sequence(seed_from_hash(&hasher))
}

/// Fills in the macros of a recalled message. Its random numbers depend only on the session and the message, and
/// variables that it writes are dropped.
pub fn fill_recalled(snapshot: &TurnSnapshot, node: &Node, text: &str, prompt: &MacroEngine<'_>) -> String {
    if !text.contains(['{', '}', '<']) {
        return text.to_owned();
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&snapshot.session().seed.to_le_bytes());
    hasher.update(node.id.as_bytes());
    let facts = MacroContext {
        time: prompt.time().clone(),
        token_limits: prompt.token_limits(),
        seed: snapshot.session().seed,
        generation_type: "normal".into(),
        ..snapshot.cast.macro_context()
    };
    MacroEngine::new(&facts, snapshot.world.vars.clone(), Map::new(), &mut random_sequence(seed_from_hash(&hasher)))
        .fill(text)
}

/// Returns the first 8 bytes of a hash as a seed.
fn seed_from_hash(hasher: &blake3::Hasher) -> u64 {
    hasher.finalize().as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns random numbers in `[0, 1)`.
fn random_sequence(seed: u64) -> impl FnMut() -> f64 + use<> {
    let mut random = SplitMix64::new(seed);
    move || f64::from(u32::try_from(random.next_u64() >> 32).unwrap_or(0)) / 4_294_967_296.0
}

/// Fills in the macros of a text at the beginning of a story, outside of any state.
pub fn fill_first_text(cast: &PromptCast, text: &str, globals: &Map<String, Value>, at: &GreetingMoment) -> String {
    fill_greeting(&World::default(), &SchemaSet::default(), cast, text, globals, at).0
}

/// When a greeting is written, and the seed of its random numbers.
#[derive(Debug, Clone)]
pub struct GreetingMoment {
    pub seed: u64,
    pub now: Time,
    /// The time zone of the person.
    pub zone: TimeZone,
    /// What the greeting records as its time zone.
    pub recorded_zone: Option<String>,
}

impl GreetingMoment {
    /// Returns the moment of a request with this time zone.
    pub fn new(settings: &GenerationConfig, seed: u64, now: Time, asked: Option<&str>) -> Self {
        let usual = &settings.time_zone;
        let recorded_zone = recorded_zone(asked.map(str::to_owned), usual);
        Self { seed, now, zone: zone_or_usual(asked, usual), recorded_zone }
    }
}

/// Fills in the macros of a greeting in a state. Returns its text, and operations for the variables that it writes.
pub fn fill_greeting(
    world: &World,
    rules: &SchemaSet,
    cast: &PromptCast,
    text: &str,
    globals: &Map<String, Value>,
    at: &GreetingMoment,
) -> (String, Vec<StateOperation>) {
    let facts = MacroContext {
        time: MacroTime { ms: at.now.0, zone: at.zone.clone() },
        seed: at.seed,
        generation_type: "normal".into(),
        ..cast.macro_context()
    };
    let mut draw = random_sequence(at.seed);
    let mut macros = MacroEngine::new(&facts, world.vars.clone(), globals.clone(), &mut draw);
    let filled = macros.fill(text);
    macros.keep_changes();
    let operations = variable_operations(world, rules, globals, &macros);
    (filled, operations.into_iter().map(|one| StateOperation { why: WHY_GREETING.into(), ..one }).collect())
}

/// Returns operations for the written variables that last. Below the root of a schema, only declared values do. What is
/// larger than [`MAX_WRITTEN_BYTES`] is left out.
///
/// Global variables are written to the state too, so that going back in the story takes them back.
pub fn variable_operations(
    world: &World,
    rules: &SchemaSet,
    globals: &Map<String, Value>,
    macros: &MacroEngine<'_>,
) -> Vec<StateOperation> {
    let written = macros.local.kept();
    let own = written.keys().filter_map(|name| Some((name.clone(), world.vars.get(name)?.clone())));
    let before = World { vars: own.collect(), ..World::default() };
    let own = written.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
    let after = World { vars: own.collect(), ..World::default() };
    let local = diff(&before, &after).into_iter().filter_map(|change| {
        let declared = match rules.schema_for(&change.path) {
            Some((root, schema)) => Some(schema.node_at(change.path.below(root)?)?),
            None => None,
        };
        let change_there = match change.after {
            Some(value) if declared.is_some_and(|node| !accepts_text(node)) => StateChange::Set(parse_scalar(value)),
            Some(value) => StateChange::Set(value),
            None => StateChange::Remove,
        };
        Some(StateOperation::new(change.path, change_there, WHY, SERVER))
    });
    let global = macros.global.kept().iter().filter(|(name, value)| globals.get(*name) != value.as_ref());
    let global = global.map(|(name, value)| {
        let path = Pointer::from_keys([BRANCH_GLOBALS, name.as_str()]);
        StateOperation::new(path, StateChange::Set(value.clone().unwrap_or_default()), WHY, SERVER)
    });
    within_bytes(local.chain(global), MAX_WRITTEN_BYTES)
}

/// Returns the operations that fit into so many bytes, each in turn.
fn within_bytes(operations: impl Iterator<Item = StateOperation>, most: usize) -> Vec<StateOperation> {
    let mut left = most;
    let fits = |operation: &StateOperation| {
        let rest = left.checked_sub(operation.to_json().to_string().len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    operations.filter(fits).collect()
}

/// Returns whether a schema node accepts text.
fn accepts_text(node: &world::SchemaNode) -> bool {
    node.kinds().is_empty() || node.kinds().iter().any(|kind| kind.as_str() == "string")
}

/// Parses a text as JSON where the schema accepts no text; macros only write texts.
fn parse_scalar(value: Value) -> Value {
    let Value::String(text) = &value else { return value };
    serde_json::from_str(text.trim()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clotho_core::world::{Pointer, Schema};
    use serde_json::json;
    use std::sync::Arc;

    fn schema_set() -> SchemaSet {
        let schema = json!({"type": "object", "properties": {
            "hp": {"type": "integer"}, "name": {"type": "string"}, "bag": {"type": "object", "additionalProperties": {"type": "integer"}}}});
        SchemaSet::new(vec![(Pointer::from_keys(["combat"]), Arc::new(Schema::parse(schema).unwrap()))]).unwrap()
    }

    fn operations_of(vars: &Value, globals: &Value, kept: &[&str], passing: &str) -> Vec<Value> {
        let world = World { vars: vars.as_object().unwrap().clone(), ..World::default() };
        let globals = globals_on_branch(globals.as_object().unwrap().clone(), &world);
        let facts = MacroContext::default();
        let mut draw = || 0.0;
        let mut macros = MacroEngine::new(&facts, world.vars.clone(), globals.clone(), &mut draw);
        macros.fill_without_keeping(passing);
        kept.iter().for_each(|text| _ = macros.fill(text));
        macros.fill_without_keeping(passing);
        macros.keep_changes();
        variable_operations(&world, &schema_set(), &globals, &macros).iter().map(StateOperation::to_json).collect()
    }

    fn set(path: &str, value: &Value) -> Value {
        json!({"op": "set", "path": path, "value": value, "why": WHY, "by": SERVER})
    }

    /// `domain.md` 6.4: written variables become operations. Below the root of a schema, only declared values do, with
    /// the type of the schema.
    #[test]
    fn macros_variable_writes_become_operations() {
        let vars = json!({"combat": {"hp": 20, "name": "7", "bag": {}, "loose": 1}, "mood": "grey", "gone": 1});
        let texts = [
            "{{setvar::mood::blue}}{{setvar::new::1}}{{addvar::combat.hp::-5}}{{setvar::combat.name::8}}",
            "{{setvarkey::combat.bag::rope::2}}{{setvar::combat.loose::2}}{{deletevar::gone}}{{incvar::turns}}",
        ];
        let told = operations_of(&vars, &json!({}), &texts, "");
        let mut paths: Vec<&str> = told.iter().map(|one| one["path"].as_str().unwrap()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["/combat/bag/rope", "/combat/hp", "/combat/name", "/gone", "/mood", "/new", "/turns"]);
        for expected in [
            set("/combat/hp", &json!(15)),
            set("/combat/name", &json!("8")),
            set("/combat/bag/rope", &json!(2)),
            set("/mood", &json!("blue")),
            set("/new", &json!("1")),
            set("/turns", &json!(1)),
        ] {
            assert!(told.contains(&expected), "{expected} {told:?}");
        }
        assert_eq!(
            operations_of(&vars, &json!({}), &["{{setvar::mood::grey}}{{getvar::turns}}"], ""),
            [] as [Value; 0]
        );
    }

    /// Texts that run again in each prompt change nothing that lasts, before and after the others.
    #[test]
    fn macros_writes_of_older_messages_do_not_last() {
        let passing = "{{setvar::mood::old}}{{incvar::seen}}{{setglobalvar::g::old}}";
        let told = operations_of(&json!({}), &json!({}), &["{{setvar::mood::new}}"], passing);
        assert_eq!(told, [set("/mood", &json!("new"))]);
        assert_eq!(operations_of(&json!({}), &json!({}), &[], passing), [] as [Value; 0]);
    }

    /// Global variables are changed on the branch, and read there again.
    #[test]
    fn macros_global_writes_stay_on_the_branch() {
        let vars = json!({"$global": {"count": 4, "gone": null}});
        let globals = json!({"count": 1, "gone": "x", "other": "y"});
        let told = operations_of(&vars, &globals, &["{{incglobalvar::count}}{{getglobalvar::gone}}"], "");
        assert_eq!(told, [set("/$global/count", &json!(5))]);
        let told = operations_of(&vars, &globals, &["{{deleteglobalvar::other}}{{addglobalvar::gone::z}}"], "");
        assert_eq!(told, [set("/$global/gone", &json!("z")), set("/$global/other", &json!(null))]);
    }

    /// Bad input: a card cannot fill the state.
    #[test]
    fn macros_huge_writes_do_not_last() {
        let double = "{{setvar::x::{{getvar::x}}{{getvar::x}}xxxxxxxx}}".repeat(16);
        let told = operations_of(&json!({}), &json!({}), &["{{setvar::a::1}}", &double, "{{setvar::z::2}}"], "");
        assert_eq!(told, [set("/a", &json!("1")), set("/z", &json!("2"))]);
    }

    /// What a greeting chooses is in its text and in the state.
    #[test]
    fn macros_greeting_writes_become_operations() {
        let text = "{{setvar::coat::{{random::red::blue::green}}}}Her {{getvar::coat}} coat.{{incglobalvar::met}}";
        let (cast, rules) = (PromptCast::default(), SchemaSet::default());
        let at = GreetingMoment::new(&clotho_config::Config::default().generation, 5, Time(0), None);
        let (filled, operations) = fill_greeting(&World::default(), &rules, &cast, text, &Map::new(), &at);
        let told: Vec<Value> = operations.iter().map(StateOperation::to_json).collect();
        let coat = told[0]["value"].as_str().unwrap();
        assert_eq!(filled, format!("Her {coat} coat.1"));
        assert_eq!((&told[0]["path"], &told[0]["why"]), (&json!("/coat"), &json!(WHY_GREETING)));
        assert_eq!((&told[1]["path"], &told[1]["value"]), (&json!("/$global/met"), &json!(1)));
    }

    #[test]
    fn macros_seeded_random_stays_in_unit_interval() {
        let mut draw = random_sequence(7);
        assert!((0..1_000).map(|_| draw()).all(|one| (0.0..1.0).contains(&one)));
    }
}
