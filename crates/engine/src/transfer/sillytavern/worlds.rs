//! Variables as operations on the world.
//!
//! MVU stores all variables with each message. Here a message has the operations that lead from the state before it
//! to that value. They stay under `/stat_data`, so that whatever reads them finds them. If MVU dropped the state of a
//! message to save space, the commands in its text are replayed.

use serde_json::{Map, Number, Value};

use clotho_compat::interop::chat::ChatFileSwipe;
use clotho_core::tree::Delta;
use clotho_core::world::{Pointer, SchemaSet, StateChange, StateOperation, World, diff, fold};
use clotho_plugin::mvu;

/// The key of the message variables in `vars`.
pub const STATE: &str = "stat_data";

/// Returns the operations of an alternative and applies them to `world`. Before them come those for the variables of
/// the chat, if they are given; `root` is the state before the first message.
pub fn apply_alternative(
    world: &mut World,
    alternative: &ChatFileSwipe,
    chat_variables: Option<&Map<String, Value>>,
    root: &World,
) -> Delta {
    let mut delta = chat_variables.map(|wanted| chat_delta(world, wanted, root)).unwrap_or_default();
    let own = swipe_delta(world, alternative);
    delta.operations.extend(own.operations);
    delta.problems.extend(own.problems);
    delta.notes.extend(own.notes);
    delta
}

fn swipe_delta(world: &mut World, alternative: &ChatFileSwipe) -> Delta {
    match alternative.variables.as_ref().and_then(|variables| variables.get(STATE)) {
        Some(state) => {
            let wanted = Map::from_iter([(STATE.to_owned(), state.clone())]);
            delta_to(world, &wanted)
        }
        None if world.vars.contains_key(STATE) => {
            let replayed = mvu::replay(&alternative.text, &Pointer::from_keys([STATE]), world);
            Delta { operations: replayed.operations, ..Delta::default() }
        }
        None => Delta::default(),
    }
}

/// Returns the operations that give the variables of a chat these values, and applies them to `world`. `root` is the
/// state before the first message: the chat has no more what is only there.
pub fn chat_delta(world: &mut World, wanted: &Map<String, Value>, root: &World) -> Delta {
    let removed = root.vars.keys().filter(|key| !wanted.contains_key(*key) && *key != STATE);
    delta_of_keys(world, wanted.keys().chain(removed), wanted)
}

/// Returns the operations that give some variables these values, and applies them to `world`.
fn delta_to(world: &mut World, wanted: &Map<String, Value>) -> Delta {
    delta_of_keys(world, wanted.keys(), wanted)
}

/// Returns the operations that give the variables with these keys the wanted values, or remove them.
fn delta_of_keys<'k>(world: &mut World, keys: impl Iterator<Item = &'k String>, wanted: &Map<String, Value>) -> Delta {
    let part = |vars| World { vars, ..World::default() };
    let now = keys.filter_map(|key| Some((key.clone(), world.vars.get(key)?.clone())));
    let changes = diff(&part(now.collect()), &part(wanted.clone()));
    let operations = changes.into_iter().map(|change| {
        let kind = match (&change.before, change.after) {
            (_, None) => StateChange::Remove,
            (before, Some(after)) => {
                integer_growth(before.as_ref(), &after).map_or(StateChange::Set(after), StateChange::Add)
            }
        };
        StateOperation::new(change.path, kind, "", "server")
    });
    let mut delta = Delta { operations: operations.collect(), ..Delta::default() };
    let problems = fold(world, &delta.operations, &SchemaSet::default());
    delta.record_problems(&problems);
    delta
}

/// Returns the difference of two integers. An addition stays correct on another branch.
fn integer_growth(before: Option<&Value>, after: &Value) -> Option<Number> {
    let grown = after.as_i64()?.checked_sub(before?.as_i64()?)?;
    Some(Number::from(grown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn swipe_with_state(text: &str, state: Value) -> ChatFileSwipe {
        let variables = (!state.is_null()).then(|| Map::from_iter([(STATE.to_owned(), state)]));
        ChatFileSwipe { text: text.into(), variables, ..ChatFileSwipe::default() }
    }

    /// Domain 3.3: differences become the exact operations, and no more.
    #[test]
    fn mvu_variables_differences_become_operations() {
        let mut world = World::default();
        let first =
            swipe_delta(&mut world, &swipe_with_state("", json!({"hp": [10, "health"], "bag": ["a"], "mood": "calm"})));
        assert_eq!(first.operations.len(), 1);
        let next = json!({"hp": [7, "health"], "bag": ["a", "b"]});
        let second = swipe_delta(&mut world, &swipe_with_state("", next.clone()));
        let operations: Vec<Value> = second.operations.iter().map(StateOperation::to_json).collect();
        assert_eq!(
            operations,
            [
                json!({"op": "add", "path": "/stat_data/hp/0", "value": -3, "by": "server"}),
                json!({"op": "set", "path": "/stat_data/bag", "value": ["a", "b"], "by": "server"}),
                json!({"op": "remove", "path": "/stat_data/mood", "by": "server"}),
            ]
        );
        assert_eq!(world.vars[STATE], next);
        assert_eq!(swipe_delta(&mut world, &swipe_with_state("", next)), Delta::default());
    }

    /// Domain 3: for a dropped state, the commands in the text are replayed.
    #[test]
    fn mvu_variables_missing_state_replays_commands() {
        let mut world = World::default();
        assert_eq!(swipe_delta(&mut world, &swipe_with_state("_.set('hp', 1);", Value::Null)), Delta::default());
        swipe_delta(&mut world, &swipe_with_state("", json!({"hp": 10})));
        let replayed = swipe_delta(&mut world, &swipe_with_state("It bites. _.add('hp', -4);//bitten", Value::Null));
        assert_eq!(replayed.operations[0].why, "bitten");
        assert_eq!(world.vars[STATE], json!({"hp": 6}));
    }

    /// The variables of a longer chat: only what differs becomes an operation, and what it has no more is removed.
    #[test]
    fn chat_variables_difference_becomes_operations() {
        let vars = |value: Value| value.as_object().unwrap().clone();
        let root = World { vars: vars(json!({"hp": 7, "gone": 1, "stat_data": {}})), ..World::default() };
        let now = vars(json!({"hp": 7, "gone": 1, "mine": 2, "stat_data": {}}));
        let mut world = World { vars: now, ..World::default() };
        assert_eq!(chat_delta(&mut world.clone(), &vars(json!({"hp": 7, "gone": 1})), &root), Delta::default());
        let delta = chat_delta(&mut world, &vars(json!({"hp": 5, "new": "x"})), &root);
        let operations: Vec<Value> = delta.operations.iter().map(StateOperation::to_json).collect();
        assert_eq!(operations.len(), 3, "{operations:?}");
        assert_eq!(world.vars, vars(json!({"hp": 5, "mine": 2, "stat_data": {}, "new": "x"})));
    }

    /// A value that the world cannot hold is a problem of that message and costs nothing else.
    #[test]
    fn mvu_variables_invalid_value_is_problem() {
        let mut world = World::default();
        let deep = (0..40).fold(json!(1), |inner, _| json!({ "x": inner }));
        let delta = delta_to(&mut world, json!({"deep": deep, "fine": 1}).as_object().unwrap());
        assert_eq!((delta.problems.len(), &world.vars["fine"]), (1, &json!(1)));
    }
}
