//! The values of macros at a snapshot, and what happens to the variables that they write (`docs/domain.md` 6.4).
//!
//! Everything comes from the snapshot, so that a preview and the request after it are the same. The time is that of the
//! answered message. Random numbers are seeded by the session, that message and the number of the reply. Variables are
//! a copy of the world there; writes are lost with it, except for values that the session's schemas declare.

use serde_json::{Map, Value};

use clotho_compat::prompt::lore::LoreAudience;
use clotho_compat::prompt::macros::{MacroContext, MacroEngine, MacroHistory, MacroTime, MacroVariables};
use clotho_compat::prompt::{PromptCast, PromptTokenLimits};
use clotho_core::clock::{SplitMix64, Time};
use clotho_core::ids::{NodeId, UserId};
use clotho_core::tree::{Node, Role};
use clotho_core::world::{self, SchemaSet, StateChange, StateOperation, World, diff};
use clotho_store::{StoreError, StoreReader};

use super::note;
use crate::turn::rules::hooks::SERVER;
use crate::turn::snapshot::TurnSnapshot;

/// The kind of presets that hold global variables.
const VARIABLES: &str = "variables";
/// The reason given in operations of macros.
const WHY: &str = "a macro in the prompt";

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

/// Returns the values of macros at a snapshot.
pub fn macro_facts(
    snapshot: &TurnSnapshot,
    sizes: PromptTokenLimits,
    model: &str,
    purpose: &PromptPurpose,
) -> MacroContext {
    let at = &snapshot.at.node;
    MacroContext {
        history: MacroHistory { version: swipe_position(purpose), ..last_messages(snapshot, purpose) },
        time: MacroTime { ms: at.created.0, ..MacroTime::default() },
        token_limits: sizes,
        model: model.to_owned(),
        note: note::merged_note(snapshot.session(), &snapshot.cast).text,
        summary: snapshot.world.summary.clone(),
        generation_type: purpose.name().to_owned(),
        seed: snapshot.session().seed,
        ..snapshot.cast.macro_context()
    }
}

/// Returns the number of the reply, from 1, and the number of earlier siblings; `None` for the first reply.
fn swipe_position(purpose: &PromptPurpose) -> Option<(u64, u64)> {
    let before = u64::try_from(purpose.number).ok().filter(|before| *before > 0)?;
    Some((before + 1, before))
}

/// Reads the global variables of a user. What macros write to them is lost after the prompt.
///
/// # Errors
/// Returns an error if the database fails.
pub fn globals(reader: &mut StoreReader<'_>, owner: UserId) -> Result<Map<String, Value>, StoreError> {
    let kept = reader.preset_bodies(owner, VARIABLES)?.all.into_iter();
    Ok(kept.filter_map(|body| if let Value::Object(body) = body { Some(body) } else { None }).flatten().collect())
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
pub fn fill_recalled(snapshot: &TurnSnapshot, node: &Node, text: &str, sizes: PromptTokenLimits) -> String {
    if !text.contains(['{', '}', '<']) {
        return text.to_owned();
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&snapshot.session().seed.to_le_bytes());
    hasher.update(node.id.as_bytes());
    let time = MacroTime { ms: snapshot.at.node.created.0, ..MacroTime::default() };
    let facts = MacroContext {
        time,
        token_limits: sizes,
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

/// Fills in the macros of a greeting.
pub fn fill_greeting(cast: &PromptCast, text: &str, globals: &Map<String, Value>, seed: u64, now: Time) -> String {
    fill_greeting_in(&World::default(), cast, text, globals, seed, now)
}

/// Like [`greeting`], with the given world.
pub fn fill_greeting_in(
    world: &World,
    cast: &PromptCast,
    text: &str,
    globals: &Map<String, Value>,
    seed: u64,
    now: Time,
) -> String {
    let facts = MacroContext {
        time: MacroTime { ms: now.0, ..MacroTime::default() },
        seed,
        generation_type: "normal".into(),
        ..cast.macro_context()
    };
    MacroEngine::new(&facts, world.vars.clone(), globals.clone(), &mut random_sequence(seed)).fill(text)
}

/// Returns operations for the written variables that schemas declare.
pub fn variable_operations(world: &World, rules: &SchemaSet, local: &MacroVariables) -> Vec<StateOperation> {
    let only = |vars: &Map<String, Value>| {
        let own = local.changed().iter().filter_map(|name| Some((name.clone(), vars.get(name)?.clone())));
        World { vars: own.collect(), ..World::default() }
    };
    let changes = diff(&only(&world.vars), &only(local.map())).into_iter();
    let declared = changes.filter_map(|change| {
        let (root, schema) = rules.schema_for(&change.path)?;
        let node = schema.node_at(change.path.below(root)?)?;
        let change_there = match change.after {
            Some(value) if accepts_text(node) => StateChange::Set(value),
            Some(value) => StateChange::Set(parse_scalar(value)),
            None => StateChange::Remove,
        };
        Some(StateOperation::new(change.path, change_there, WHY, SERVER))
    });
    declared.collect()
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

    /// `domain.md` 6.4: only variables that a schema declares become operations, with the type of the schema.
    #[test]
    fn macros_declared_variable_writes_become_operations() {
        let vars = json!({"combat": {"hp": 20, "name": "7", "bag": {}, "loose": 1}, "mood": "grey"});
        let world = World { vars: vars.as_object().unwrap().clone(), ..World::default() };
        let facts = MacroContext::default();
        let mut draw = || 0.0;
        let mut macros = MacroEngine::new(&facts, world.vars.clone(), Map::new(), &mut draw);
        macros.fill("{{setvar::mood::blue}}{{setvar::new::1}}{{addvar::combat.hp::-5}}{{setvar::combat.name::8}}");
        macros.fill("{{setvarkey::combat.bag::rope::2}}{{setvar::combat.loose::2}}");
        let told: Vec<Value> =
            variable_operations(&world, &schema_set(), &macros.local).iter().map(StateOperation::to_json).collect();
        let set =
            |path: &str, value: Value| json!({"op": "set", "path": path, "value": value, "why": WHY, "by": SERVER});
        assert_eq!(
            told,
            [set("/combat/hp", json!(15)), set("/combat/name", json!("8")), set("/combat/bag/rope", json!(2))]
        );
    }

    #[test]
    fn macros_seeded_random_stays_in_unit_interval() {
        let mut draw = random_sequence(7);
        assert!((0..1_000).map(|_| draw()).all(|one| (0.0..1.0).contains(&one)));
    }
}
