//! The random acts. A new act needs a variant, a weight, and its effect in `Play::act`.

use clotho_core::world::{StateChange, StateOperation};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use crate::support::test_store::{add_operation, pointer, set_operation};

/// One random act. An `Index` selects one of the existing nodes.
#[derive(Debug, Clone)]
pub enum Step {
    /// A message below HEAD or, sometimes, elsewhere.
    Say {
        parent: Option<Index>,
        replies: usize,
        move_head: bool,
        operations: Vec<StateOperation>,
        bridge: Option<i64>,
    },
    Roll {
        context: Index,
        replies: usize,
        move_head: bool,
    },
    End {
        running: Index,
        fails: bool,
        wants_head: bool,
        operations: Vec<StateOperation>,
    },
    Edit {
        node: Index,
        carry: bool,
        move_head: bool,
        operations: Vec<StateOperation>,
        bridge: Option<i64>,
    },
    Checkout {
        node: Index,
        exact: bool,
    },
    Change {
        parent: Index,
        operations: Vec<StateOperation>,
        rules: Option<i64>,
    },
    State {
        node: Index,
        other: Index,
        is_enabled: Option<bool>,
        is_muted: Option<bool>,
        rating: Option<u8>,
    },
    Retitle(u8),
    Prune(Index),
    Graft {
        node: Index,
        target: Index,
    },
    Purge(Index),
    PurgeStashed(Index),
    PurgeTakenBack(Index),
    /// A fragment returns to its old place, or to another one.
    Return {
        fragment: Index,
        target: Option<Index>,
    },
    Copy {
        node: Index,
        target: Index,
    },
    /// A fragment is copied into the tree and stays in the stash.
    CopyStashed {
        fragment: Index,
        target: Index,
    },
    /// The last messages of a branch get a summary.
    Summarise {
        leaf: Index,
        length: usize,
    },
    /// Changes of another branch are merged into HEAD or another node. Conflicts are resolved with theirs.
    Merge {
        from: Index,
        onto: Option<Index>,
        run: usize,
    },
    Label {
        node: Index,
        name: u8,
        following: bool,
    },
    Unlabel(u8),
    Undo,
    Redo,
    /// Several acts in one request that is refused at its end: nothing of it may remain, neither stored nor cached.
    Botch {
        operations: Vec<StateOperation>,
        rules: i64,
        mutes: Index,
    },
    /// Reads worlds, which caches them.
    Look,
    ForgetWorlds,
    ForgetKeyframes,
    /// Half of the keyframes get other bytes.
    Damage(u8),
    Reopen,
}

fn any_operation() -> impl Strategy<Value = StateOperation> {
    let new = |path: &str, change| StateOperation::new(pointer(path), change, "", "test");
    prop_oneof![
        4 => (-60..60_i64).prop_map(|n| add_operation("/combat/hp", n)),
        2 => (0..300_i64).prop_map(|n| set_operation("/combat/hp", json!(n))),
        2 => (-9..9_i64).prop_map(|n| add_operation("/free/x", n)),
        1 => (0..3_i64).prop_map(move |n| new("/free/list", StateChange::Append(json!({"n": n})))),
        1 => (0..3_i64).prop_map(move |n| new("/free/list", StateChange::Take(json!({"n": n})))),
        1 => Just(new("/free/x", StateChange::Remove)),
        1 => Just(set_operation("/free/比", json!({"a": null, "b": 0.1}))),
    ]
}

fn any_operations() -> impl Strategy<Value = Vec<StateOperation>> {
    prop::collection::vec(any_operation(), 0..3)
}

fn any_rules_limit() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![5 => Just(None), 1 => prop::sample::select(vec![50, 100, 200]).prop_map(Some)]
}

pub fn any_step() -> impl Strategy<Value = Step> {
    let parent = prop_oneof![4 => Just(None), 1 => any::<Index>().prop_map(Some)];
    // The number before each act is its weight.
    prop_oneof![
        12 => (parent, 0..3_usize, any::<bool>(), any_operations(), any_rules_limit()).prop_map(
            |(parent, replies, move_head, operations, bridge)| {
                Step::Say { parent, replies, move_head: move_head || parent.is_none(), operations, bridge }
            }
        ),
        3 => (any::<Index>(), 1..3_usize, any::<bool>())
            .prop_map(|(context, replies, move_head)| Step::Roll { context, replies, move_head }),
        8 => (any::<Index>(), any::<bool>(), any::<bool>(), any_operations()).prop_map(
            |(running, fails, wants_head, operations)| Step::End { running, fails, wants_head, operations }
        ),
        5 => (any::<Index>(), any::<bool>(), any::<bool>(), any_operations(), any_rules_limit()).prop_map(
            |(node, carry, move_head, operations, bridge)| Step::Edit { node, carry, move_head, operations, bridge }
        ),
        4 => (any::<Index>(), any::<bool>()).prop_map(|(node, exact)| Step::Checkout { node, exact }),
        2 => (any::<Index>(), any_operations(), any_rules_limit())
            .prop_map(|(parent, operations, rules)| Step::Change { parent, operations, rules }),
        4 => (any::<Index>(), any::<Index>(), any::<Option<bool>>(), any::<Option<bool>>(), prop::option::of(1..=5_u8))
            .prop_map(|(node, other, is_enabled, is_muted, rating)| {
                Step::State { node, other, is_enabled, is_muted, rating }
            }),
        1 => any::<u8>().prop_map(Step::Retitle),
        3 => any::<Index>().prop_map(Step::Prune),
        3 => (any::<Index>(), any::<Index>()).prop_map(|(node, target)| Step::Graft { node, target }),
        1 => any::<Index>().prop_map(Step::Purge),
        1 => any::<Index>().prop_map(Step::PurgeStashed),
        1 => any::<Index>().prop_map(Step::PurgeTakenBack),
        2 => (any::<Index>(), any::<Option<Index>>()).prop_map(|(fragment, target)| Step::Return { fragment, target }),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(node, target)| Step::Copy { node, target }),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(fragment, target)| Step::CopyStashed { fragment, target }),
        2 => (any::<Index>(), 1..5_usize).prop_map(|(leaf, length)| Step::Summarise { leaf, length }),
        2 => (any::<Index>(), any::<Option<Index>>(), 0..3_usize)
            .prop_map(|(from, onto, run)| Step::Merge { from, onto, run }),
        2 => (any::<Index>(), 0..4_u8, any::<bool>())
            .prop_map(|(node, name, following)| Step::Label { node, name, following }),
        1 => (0..4_u8).prop_map(Step::Unlabel),
        4 => Just(Step::Undo),
        2 => Just(Step::Redo),
        2 => (any_operations(), prop::sample::select(vec![50, 100, 200]), any::<Index>())
            .prop_map(|(operations, rules, mutes)| Step::Botch { operations, rules, mutes }),
        2 => Just(Step::Look),
        1 => Just(Step::ForgetWorlds),
        1 => Just(Step::ForgetKeyframes),
        1 => any::<u8>().prop_map(Step::Damage),
        1 => Just(Step::Reopen),
    ]
}

/// Returns a strategy for one act that makes a new step to undo.
pub fn any_undoable_step() -> impl Strategy<Value = Step> {
    any_step().prop_filter("only what ends at once and is a step", |step| match step {
        Step::Say { replies, .. } => *replies == 0,
        Step::Edit { .. } | Step::Change { .. } | Step::State { .. } | Step::Retitle(_) | Step::Prune(_) => true,
        Step::Copy { .. } | Step::CopyStashed { .. } | Step::Summarise { .. } | Step::Merge { .. } => true,
        Step::Graft { .. } | Step::Return { .. } | Step::Label { .. } | Step::Unlabel(_) => true,
        _ => false,
    })
}
