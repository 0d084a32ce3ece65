//! Variables as operations on the world.
//!
//! MVU writes all variables of a story down with each message. Here a message says what changed: the operations that lead
//! from the world before it to what is written down. They live under `/stat_data`, as they are called there, so that what
//! reads them finds them. Where the state of a message was thrown away, as MVU does to save room, its commands are carried
//! out again.

use serde_json::{Map, Number, Value};

use clotho_compat::interop::chat::ChatFileSwipe;
use clotho_core::tree::Delta;
use clotho_core::world::{Pointer, SchemaSet, StateChange, StateOperation, World, diff, fold};
use clotho_plugin::mvu;

/// Where the variables of messages live.
pub const STATE: &str = "stat_data";

/// What an alternative does to the world before it, which becomes the world after it.
pub fn step(world: &mut World, alternative: &ChatFileSwipe) -> Delta {
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

/// What leads from a world to one in which some variables have these values.
pub fn delta_to(world: &mut World, wanted: &Map<String, Value>) -> Delta {
    let part = |vars| World { vars, ..World::default() };
    let now = wanted.keys().filter_map(|key| Some((key.clone(), world.vars.get(key)?.clone())));
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

/// How much a whole number grew: that stays true on another branch.
fn integer_growth(before: Option<&Value>, after: &Value) -> Option<Number> {
    let grown = after.as_i64()?.checked_sub(before?.as_i64()?)?;
    Some(Number::from(grown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn alternative(text: &str, state: Value) -> ChatFileSwipe {
        let variables = (!state.is_null()).then(|| Map::from_iter([(STATE.to_owned(), state)]));
        ChatFileSwipe { text: text.into(), variables, ..ChatFileSwipe::default() }
    }

    /// Domain 3.3: what differs becomes operations that lead exactly there, and no more than that.
    #[test]
    fn mvu_variables_differences_become_operations() {
        let mut world = World::default();
        let first = step(&mut world, &alternative("", json!({"hp": [10, "health"], "bag": ["a"], "mood": "calm"})));
        assert_eq!(first.operations.len(), 1);
        let next = json!({"hp": [7, "health"], "bag": ["a", "b"]});
        let second = step(&mut world, &alternative("", next.clone()));
        let told: Vec<Value> = second.operations.iter().map(StateOperation::to_json).collect();
        assert_eq!(
            told,
            [
                json!({"op": "add", "path": "/stat_data/hp/0", "value": -3, "by": "server"}),
                json!({"op": "set", "path": "/stat_data/bag", "value": ["a", "b"], "by": "server"}),
                json!({"op": "remove", "path": "/stat_data/mood", "by": "server"}),
            ]
        );
        assert_eq!(world.vars[STATE], next);
        assert_eq!(step(&mut world, &alternative("", next)), Delta::default());
    }

    /// Domain 3: a state that was thrown away is what the text says happened.
    #[test]
    fn mvu_variables_missing_state_replays_commands() {
        let mut world = World::default();
        assert_eq!(step(&mut world, &alternative("_.set('hp', 1);", Value::Null)), Delta::default());
        step(&mut world, &alternative("", json!({"hp": 10})));
        let replayed = step(&mut world, &alternative("It bites. _.add('hp', -4);//bitten", Value::Null));
        assert_eq!(replayed.operations[0].why, "bitten");
        assert_eq!(world.vars[STATE], json!({"hp": 6}));
    }

    /// What the world cannot hold is a problem of that message, and costs nothing else.
    #[test]
    fn mvu_variables_invalid_value_is_problem() {
        let mut world = World::default();
        let deep = (0..40).fold(json!(1), |inner, _| json!({ "x": inner }));
        let delta = delta_to(&mut world, json!({"deep": deep, "fine": 1}).as_object().unwrap());
        assert_eq!((delta.problems.len(), &world.vars["fine"]), (1, &json!(1)));
    }
}
