//! New rules over an old line: `on_input` and `on_reply` of one plugin run again along it, in a world beside the story's own, so
//! that an author sees what they would have done. The dice that fell fall again, what models and narrators wrote stays, and
//! nothing is written.

use std::sync::Arc;

use serde_json::Value;

use crate::ids::{NodeId, SessionId, UserId};
use crate::plugin::{Hook, Loaded, ScriptError};
use crate::store::Show;
use crate::tree::edit::Refusal;
use crate::tree::{Delta, Effects, Kind, Role};
use crate::world::{Operation, PathChange, World, diff, fold};

use super::scene::Look;
use super::workshop::{self, Place, Set};
use super::{Parts, TurnError};

/// So many nodes of a line are replayed at once.
const MOST: usize = 200;

/// What is to be replayed.
pub struct Replay {
    /// The plugin, perhaps with code that is in no file.
    pub plugin: Arc<Loaded>,
    /// The session.
    pub session: SessionId,
    /// Where the line ends; HEAD if it is left out.
    pub leaf: Option<NodeId>,
    /// The message at which it begins; as far back as may be if it is left out.
    pub from: Option<NodeId>,
}

/// One message of a line whose rules ran again.
pub struct Row {
    /// The message.
    pub node: NodeId,
    /// The hook.
    pub hook: Hook,
    /// What the plugin proposed there.
    pub old: Vec<Operation>,
    /// What it would propose.
    pub new: Vec<Operation>,
    /// The lines that it would say under the message.
    pub notes: Vec<String>,
    /// Why it would fail.
    pub error: Option<ScriptError>,
    /// Where the world after the message would differ from the story's.
    pub world: Vec<PathChange>,
}

/// Replays a line.
///
/// # Errors
/// The session or a message is not the caller's or not there, `from` is not on the line or too far up, or the database fails.
pub async fn replay(parts: &Arc<Parts>, caller: UserId, asked: Replay) -> Result<Vec<Row>, TurnError> {
    let line = line(parts, caller, &asked).await?;
    let mut rows = Vec::new();
    let mut world: Option<Arc<World>> = None;
    for (node, role) in line {
        let hook = if role == Role::User { Hook::OnInput } else { Hook::OnReply };
        let look = Look::at(parts, caller, asked.session, node);
        let place = parts.store.read(move |reader| workshop::place(reader, hook, &look)).await?;
        let before = world.unwrap_or_else(|| Arc::clone(&place.before));
        let (after, row) = step(parts, &asked.plugin, hook, &place, before).await?;
        rows.extend(row);
        world = Some(after);
    }
    Ok(rows)
}

/// The nodes to go along, oldest first.
async fn line(parts: &Arc<Parts>, caller: UserId, asked: &Replay) -> Result<Vec<(NodeId, Role)>, TurnError> {
    let (session, leaf, from) = (asked.session, asked.leaf, asked.from);
    let read = move |reader: &mut crate::store::Reader<'_>| {
        let held = reader.session(caller, session)?.ok_or(Refusal::NotFound("the session"))?;
        let leaf = reader.node(&held, leaf.unwrap_or(held.session.head))?.ok_or(Refusal::NotFound("the message"))?;
        if let Some(from) = from {
            reader.node(&held, from)?.ok_or(Refusal::NotFound("the message"))?;
        }
        let most = i64::try_from(MOST).unwrap_or(i64::MAX);
        let page = reader.newest_page(&held, &leaf, most, Show::All)?;
        let nodes: Vec<(NodeId, Role)> = page.nodes.iter().map(|placed| (placed.node.id, placed.node.role)).collect();
        let Some(from) = from else { return Ok(nodes) };
        match nodes.iter().position(|(node, _)| *node == from) {
            Some(at) => Ok(nodes.into_iter().skip(at).collect()),
            None => Err(TurnError::Invalid {
                field: "fromNodeId",
                message: format!("this message is not among the last {MOST} of the line"),
            }),
        }
    };
    parts.store.read(read).await
}

/// One node: what it did with the plugin's part made anew.
async fn step(
    parts: &Arc<Parts>,
    plugin: &Arc<Loaded>,
    hook: Hook,
    place: &Place,
    before: Arc<World>,
) -> Result<(Arc<World>, Option<Row>), TurnError> {
    let Place { node, delta, .. } = place;
    let Set { mut stage, player } = workshop::set(plugin, hook, place)?;
    let rules = Arc::clone(&stage.rules);
    let mut world = Arc::clone(&before);
    let is_muted = node.effects == Effects::Muted;
    let runs = place.is_read && node.kind == Kind::Message && plugin.has(hook) && !is_muted;
    if !runs {
        if !is_muted {
            fold(Arc::make_mut(&mut world), &delta.operations, &rules);
        }
        return Ok((world, None));
    }
    let Split { ahead, old, behind } = split(delta, plugin.id(), hook);
    fold(Arc::make_mut(&mut world), &ahead, &rules);
    stage.world = before;
    if let Some(typed) = node.metadata.get("originalContent").and_then(Value::as_str) {
        stage.text = Arc::from(typed);
    }
    let outcome = parts.hooks.aside(hook, &stage, &player, Arc::clone(&world)).await;
    fold(Arc::make_mut(&mut world), &outcome.operations, &rules);
    fold(Arc::make_mut(&mut world), &behind, &rules);
    let row = Row {
        node: node.id,
        hook,
        old,
        new: outcome.operations,
        notes: outcome.notes,
        error: outcome.error,
        world: diff(&place.after, &world),
    };
    Ok((world, Some(row)))
}

/// The operations of a node: those of one run, and what came before and after it.
struct Split {
    ahead: Vec<Operation>,
    old: Vec<Operation>,
    behind: Vec<Operation>,
}

/// Takes the part of one plugin's hook out of what a node did. What a narrator did while it wrote is another hook's.
fn split(delta: &Delta, plugin: &str, hook: Hook) -> Split {
    let number = |run: &Value, what: &str| run.get(what).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let word = |run: &Value, what: &str| run.get(what).and_then(Value::as_str).map(str::to_owned);
    // What the server itself did stands before all runs and is counted by none.
    let counted: usize = delta.runs.iter().filter_map(|run| number(run, "ops")).sum();
    let mut at = delta.operations.len().saturating_sub(counted);
    let mut own = None;
    for run in &delta.runs {
        let ops = number(run, "ops").unwrap_or(0);
        if word(run, "plugin").as_deref() == Some(plugin) && word(run, "hook").as_deref() == Some(hook.name()) {
            own = Some((at, ops));
        }
        at += ops;
    }
    let (begin, ops) = own.unwrap_or((delta.operations.len(), 0));
    let part = |skip: usize, take: usize| delta.operations.iter().skip(skip).take(take).cloned().collect();
    Split { ahead: part(0, begin), old: part(begin, ops), behind: part(begin + ops, usize::MAX) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::world::{Change, Pointer};

    #[test]
    fn the_part_of_one_run_is_taken_out() {
        let op = |by: &str, n: i64| Operation::new("/a".parse::<Pointer>().unwrap(), Change::Set(n.into()), "", by);
        let delta = Delta {
            operations: vec![op("server", 0), op("a", 1), op("b", 2), op("b", 3), op("c", 4)],
            runs: vec![
                json!({"plugin": "a", "hook": "on_reply", "ops": 1}),
                json!({"plugin": "b", "hook": "narrate", "ops": 1}),
                json!({"plugin": "b", "hook": "on_reply", "ops": 1}),
                json!({"plugin": "c", "hook": "on_reply", "ops": 1}),
            ],
            ..Delta::default()
        };
        let check = |plugin: &str, expected: [usize; 3]| {
            let Split { ahead, old, behind } = split(&delta, plugin, Hook::OnReply);
            assert_eq!([ahead.len(), old.len(), behind.len()], expected, "{plugin}");
        };
        check("a", [1, 1, 3]);
        check("b", [3, 1, 1]);
        check("nobody", [5, 0, 0]);
    }
}
