//! The scene at a node: everything that hooks and prompts are told, read in one snapshot.

use std::sync::Arc;

use crate::ids::{CharacterId, NodeId, SessionId, UserId};
use crate::plugin::{Answer, Hook, NodeFacts, Recent, Seeds};
use crate::prompt::{Cast, tags};
use crate::store::{Held, Placed, Reader, RulesInForce, Show, StoreError};
use crate::tree::edit::Refusal;
use crate::tree::{Node, Session};
use crate::world::World;

use super::hooks::{Proposal, Stage};
use super::{Parts, TurnError, cast, force};

/// How many messages before a node scripts may look at.
const RECENT: i64 = 50;

/// One position of a session.
pub struct Scene {
    /// The session as it stands.
    pub held: Held,
    /// The node.
    pub at: Placed,
    /// The world after it.
    pub world: Arc<World>,
    /// The rules in force there.
    pub rules: Arc<RulesInForce>,
    /// Who plays.
    pub cast: Cast,
    /// The messages up to it, oldest first.
    pub recent: Arc<[Recent]>,
}

impl Scene {
    /// The session.
    pub fn session(&self) -> &Session {
        &self.held.session
    }

    /// The stage for hooks that run *after* this position, for a node that comes next below it.
    pub fn stage(&self, parts: &Parts, rules: &RulesInForce, next: NodeFacts, dice_seed: u64) -> Stage {
        Stage {
            session: self.session().id,
            players: force::players(&rules.plugins, &parts.catalogue),
            rules: Arc::new(rules.rules.clone()),
            world: Arc::clone(&self.world),
            text: Arc::from(self.at.node.content.as_str()),
            role: self.at.node.role.word(),
            user: self.cast.user.clone(),
            character: self.cast.character.clone(),
            node: next,
            recent: Arc::clone(&self.recent),
            seeds: Seeds { session: self.session().seed, node: dice_seed },
        }
    }

    /// The facts of a node that comes below this position.
    pub fn next(&self, id: NodeId, time: crate::clock::Time, speaks: bool) -> NodeFacts {
        let count = |n: i32| u64::try_from(n).unwrap_or(0);
        NodeFacts {
            id: id.to_string(),
            depth: count(self.at.node.depth) + 1,
            turn: count(self.at.node.turn) + u64::from(speaks),
            time: Some(time),
        }
    }
}

/// Reads the scene at a node of one of the caller's sessions.
///
/// # Errors
/// The session or node is not there, or the database fails.
pub fn read(
    reader: &mut Reader<'_>,
    hide_tags: &[String],
    caller: UserId,
    session: SessionId,
    node: NodeId,
    speaker: Option<CharacterId>,
) -> Result<Scene, TurnError> {
    let held = reader.session(caller, session)?.ok_or(Refusal::NotFound("the session"))?;
    let at = reader.node(&held, node)?.ok_or(Refusal::NotFound("the message"))?;
    let world = reader.world(&held, &at)?;
    let rules = reader.rules(&at)?;
    let cast = cast::read(reader, &held.session, speaker)?;
    let recent = recent(reader, hide_tags, &held, &at, &cast)?;
    Ok(Scene { held, at, world, rules, cast, recent })
}

fn recent(
    reader: &mut Reader<'_>,
    hide_tags: &[String],
    held: &Held,
    at: &Placed,
    cast: &Cast,
) -> Result<Arc<[Recent]>, StoreError> {
    let page = reader.page(held, at.node.id, None, RECENT, Show::Enabled)?;
    let shown = page.nodes.iter().filter(|placed| placed.node.is_sent());
    Ok(shown.map(|placed| spoken(&placed.node, hide_tags, cast)).collect())
}

fn spoken(node: &Node, hide_tags: &[String], cast: &Cast) -> Recent {
    let fallback = if node.role == crate::tree::Role::Assistant { &cast.character } else { &cast.user };
    Recent {
        role: node.role.word().to_owned(),
        name: node.name.clone().unwrap_or_else(|| fallback.clone()),
        text: tags::hide(&node.content, hide_tags).unwrap_or_else(|| node.content.clone()),
    }
}

/// A reply that a plugin offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuickReply {
    /// The plugin.
    pub plugin: String,
    /// What the button says.
    pub label: String,
    /// What is sent.
    pub send: String,
}

/// The replies that plugins offer at a leaf.
pub(super) async fn quick_replies(
    parts: &Arc<Parts>,
    caller: UserId,
    session: SessionId,
    leaf: NodeId,
) -> Result<Vec<QuickReply>, TurnError> {
    let hide = parts.config.generation.hide_tags.clone();
    let scene = parts.store.read(move |reader| read(reader, &hide, caller, session, leaf, None)).await?;
    let at = &scene.at.node;
    let count = |n: i32| u64::try_from(n).unwrap_or(0);
    let facts =
        NodeFacts { id: at.id.to_string(), depth: count(at.depth), turn: count(at.turn), time: Some(at.created) };
    let stage = scene.stage(parts, &scene.rules, facts, at.dice_seed);
    let so_far = Proposal { world: Arc::clone(&scene.world), ..Proposal::default() };
    let proposal = parts.hooks.run(Hook::QuickReplies, &stage, so_far).await;
    let mut offered = Vec::new();
    for (plugin, answer) in proposal.answers {
        if let Answer::QuickReplies(replies) = answer {
            let own = |reply: crate::plugin::QuickReply| QuickReply {
                plugin: plugin.clone(),
                label: reply.label,
                send: reply.send,
            };
            offered.extend(replies.into_iter().map(own));
        }
    }
    Ok(offered)
}
