//! The snapshot at a node: everything that hooks and prompts need, read in one transaction.

use std::sync::Arc;

use clotho_compat::prompt::{PromptCast, tags};
use clotho_core::ids::{CharacterId, NodeId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{Kind, Node, NodeProblem, Role, Session};
use clotho_core::world::World;
use clotho_plugin::{Catalogue, DiceSeeds, Hook, HookAnswer, HookNodeInfo, RecentMessage};
use clotho_store::{ActiveRules, NodePage, PathFilter, StoreReader, StoredNode, StoredSession};

use crate::turn::cast::{self, UserPersona};
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{HookContext, HookProposal};
use crate::turn::{TurnError, rules::rules_in_force};

/// The number of recent messages that scripts can read.
const RECENT: i64 = 50;

/// Everything read at one node of a session.
pub struct TurnSnapshot {
    pub stored: StoredSession,
    pub at: StoredNode,
    /// The world after the node.
    pub world: Arc<World>,
    /// The last text and its role: of the node itself, or of the message above a change node.
    pub last_message: (Arc<str>, &'static str),
    /// The rules in force at the node.
    pub rules: Arc<ActiveRules>,
    pub cast: PromptCast,
    /// The persona of the user here.
    pub user_persona: UserPersona,
    /// The character that answers.
    pub speaker: Option<CharacterId>,
    /// The newest messages up to the node; empty if nothing needs them.
    pub page: NodePage,
    /// What scripts see of these messages, oldest first.
    pub recent: Arc<[RecentMessage]>,
    /// Replies from the root to the node; 0 if no rule needs the count.
    pub replies: u64,
    /// 1 if an unwritten change node will stand between this node and the next one, else 0.
    pub pending_changes: u64,
    /// The plugins at the time of the read. Everything derived from this snapshot uses them.
    pub catalogue: Arc<Catalogue>,
}

impl TurnSnapshot {
    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.stored.session
    }

    /// Returns the values model, if the session has one and a plugin is in force here.
    pub fn values_model(&self) -> Option<&str> {
        self.session().values_model.as_deref().filter(|_| !self.rules.plugins.is_empty())
    }

    /// Returns the context for hooks that run *after* this node, for the `next` node below it.
    pub fn hook_context(&self, rules: &ActiveRules, next: HookNodeInfo, dice_seed: u64) -> HookContext {
        HookContext {
            session: self.session().id,
            plugins: rules_in_force::active_plugins(&rules.plugins, &self.catalogue),
            rules: Arc::new(rules.rules.clone()),
            world: Arc::clone(&self.world),
            text: Arc::clone(&self.last_message.0),
            role: self.last_message.1,
            user: self.cast.user.clone(),
            character: self.cast.character.clone(),
            node: next,
            recent: Arc::clone(&self.recent),
            seeds: DiceSeeds { session: self.session().seed, node: dice_seed },
            recorded: Arc::from([]),
            answer: None,
            initial_values: Arc::from([]),
            replies: self.replies,
            is_command_only: false,
        }
    }

    /// Rebuilds `recent` from the page, which may have got another message.
    pub fn load_recent(&mut self, hide_tags: &[String]) {
        let sent = self.page.nodes.iter().map(|placed| &placed.node).filter(|node| node.is_in_prompt());
        self.recent = sent.map(|node| recent_message(node, hide_tags, &self.cast)).collect();
    }

    /// Records the time zone of the person who writes the newest message, as if it were written.
    pub fn set_time_zone(&mut self, zone: Option<String>) {
        self.at.node.metadata.time_zone.clone_from(&zone);
        if let Some(newest) = self.page.nodes.last_mut() {
            newest.node.metadata.time_zone = zone;
        }
    }

    /// Returns the facts of a node to be written below this one. `speaks` says whether it starts a new turn.
    pub fn next_node_facts(&self, id: NodeId, time: clotho_core::clock::Time, speaks: bool) -> HookNodeInfo {
        let count = |n: i32| u64::try_from(n).unwrap_or(0);
        HookNodeInfo {
            id: id.to_string(),
            depth: count(self.at.node.depth) + 1 + self.pending_changes,
            turn: count(self.at.node.turn) + u64::from(speaks),
            time: Some(time),
        }
    }
}

/// The node to read, and the caller for whom.
#[derive(Debug, Clone)]
pub struct SnapshotQuery {
    /// The caller; only their sessions are visible.
    pub caller: UserId,
    pub session: SessionId,
    pub node: NodeId,
    /// The character that answers; `None` = the session's first.
    pub speaker: Option<CharacterId>,
    /// The user's persona; `None` = that of the newest user message on the branch.
    pub user_persona: Option<UserPersona>,
    /// Tags whose blocks are hidden from scripts and models.
    pub hide_tags: Vec<String>,
    pub catalogue: Arc<Catalogue>,
}

impl SnapshotQuery {
    /// Queries a node as it is, with the default speaker and persona.
    pub fn at_node(rule_services: &RuleServices, caller: UserId, session: SessionId, node: NodeId) -> Self {
        let hide_tags = rule_services.hide_tags.clone();
        let catalogue = rule_services.catalogue.current();
        Self { caller, session, node, speaker: None, user_persona: None, hide_tags, catalogue }
    }
}

/// Reads the snapshot at a node of one of the caller's sessions.
///
/// # Errors
/// Returns an error if the session or node does not exist, or the database fails.
pub fn read(reader: &mut StoreReader<'_>, query: &SnapshotQuery) -> Result<TurnSnapshot, TurnError> {
    let stored = reader.session(query.caller, query.session)?.ok_or(TreeError::NotFound("the session"))?;
    read_in(reader, stored, query)
}

/// Reads the snapshot at a node of a session that this reader has already read.
///
/// # Errors
/// Returns an error if the node does not exist, or the database fails.
pub fn read_in(
    reader: &mut StoreReader<'_>,
    stored_session: StoredSession,
    query: &SnapshotQuery,
) -> Result<TurnSnapshot, TurnError> {
    let at = reader.node(&stored_session, query.node)?.ok_or(TreeError::NotFound("the message"))?;
    let world = reader.world(&stored_session, &at)?;
    let rules = reader.rules(&at)?;
    let page = match needs_recent_messages(&stored_session, &at, &rules, query) {
        true => reader.newest_page(&stored_session, &at, RECENT, PathFilter::Enabled)?,
        false => NodePage::default(),
    };
    let last = page.nodes.last().filter(|_| at.node.kind == Kind::Change).unwrap_or(&at);
    let said = (
        Arc::from(tags::text_for_rules(
            last.node.role,
            &last.node.content,
            last.node.reasoning.is_some(),
            &query.hide_tags,
        )),
        last.node.role.as_str(),
    );
    let sent = || page.nodes.iter().map(|placed| &placed.node).filter(|node| node.is_in_prompt());
    let voice = query.user_persona.clone().unwrap_or_else(|| newest_user_persona(sent()));
    let cast = cast::read(reader, &stored_session.session, query.speaker, &voice)?;
    let recent = sent().map(|node| recent_message(node, &query.hide_tags, &cast)).collect();
    let speaker = cast::speaker(&stored_session.session, query.speaker).map(|card| card.id);
    let replies = if needs_reply_count(&stored_session, &rules, query) { reader.count_replies_to(&at)? } else { 0 };
    Ok(TurnSnapshot {
        stored: stored_session,
        at,
        world,
        last_message: said,
        rules,
        cast,
        user_persona: voice,
        speaker,
        page,
        recent,
        replies,
        pending_changes: 0,
        catalogue: Arc::clone(&query.catalogue),
    })
}

/// Returns whether an active or enabled plugin needs the number of replies.
fn needs_reply_count(stored: &StoredSession, rules: &ActiveRules, query: &SnapshotQuery) -> bool {
    let wanted = stored.session.plugins.iter().filter(|plugin| plugin.enabled).map(|plugin| &plugin.id);
    let playing = rules.plugins.iter().map(|plugin| &plugin.id).chain(wanted);
    let mut playing = playing.filter_map(|id| query.catalogue.get(id));
    playing.any(|plugin| plugin.manifest().counts_replies())
}

/// Returns whether the recent messages are needed. They are for a query without a persona, as for a reply; for a change
/// node, because the text is above it; and for scripts that are in force or enabled.
fn needs_recent_messages(stored: &StoredSession, at: &StoredNode, rules: &ActiveRules, query: &SnapshotQuery) -> bool {
    let wants_scripts = stored.session.plugins.iter().any(|plugin| plugin.enabled);
    query.user_persona.is_none() || at.node.kind == Kind::Change || !rules.plugins.is_empty() || wants_scripts
}

fn newest_user_persona<'a>(sent: impl DoubleEndedIterator<Item = &'a Node>) -> UserPersona {
    let newest = sent.rev().find(|node| node.role == Role::User);
    newest.map(|node| UserPersona { persona: node.persona, name: node.name.clone() }).unwrap_or_default()
}

fn recent_message(node: &Node, hide_tags: &[String], cast: &PromptCast) -> RecentMessage {
    let fallback = if node.role == Role::Assistant { &cast.character } else { &cast.user };
    RecentMessage {
        role: node.role.as_str().to_owned(),
        name: node.name.clone().unwrap_or_else(|| fallback.clone()),
        text: tags::hide_for_reader(&node.content, node.reasoning.is_some(), hide_tags)
            .unwrap_or_else(|| node.content.clone()),
    }
}

/// A reply that a plugin suggests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedReply {
    pub plugin: String,
    /// The label of the button.
    pub label: String,
    /// The text that is sent.
    pub send: String,
}

/// All suggestions at a leaf.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplySuggestions {
    pub replies: Vec<SuggestedReply>,
    /// Failures of plugins that suggest nothing.
    pub problems: Vec<NodeProblem>,
}

/// A leaf at which plugins are asked for suggestions.
pub struct LeafSnapshot {
    snapshot: TurnSnapshot,
    /// The world before the leaf.
    world_before: Arc<World>,
}

/// Reads a leaf.
///
/// # Errors
/// See [`read`].
pub(in crate::turn) fn read_leaf(
    reader: &mut StoreReader<'_>,
    query: &SnapshotQuery,
) -> Result<LeafSnapshot, TurnError> {
    let snapshot = read(reader, query)?;
    let before = reader.world_before(&snapshot.stored, &snapshot.at)?;
    Ok(LeafSnapshot { snapshot, world_before: before })
}

/// Asks the plugins for suggestions at a leaf. Writes nothing; problems are only returned.
pub(in crate::turn) async fn suggest_replies(rule_services: &RuleServices, leaf: LeafSnapshot) -> ReplySuggestions {
    let LeafSnapshot { snapshot, world_before: before } = leaf;
    let at = &snapshot.at.node;
    let count = |n: i32| u64::try_from(n).unwrap_or(0);
    let facts =
        HookNodeInfo { id: at.id.to_string(), depth: count(at.depth), turn: count(at.turn), time: Some(at.created) };
    let mut context = snapshot.hook_context(&snapshot.rules, facts, at.dice_seed);
    context.world = before;
    // Only the messages before the leaf, without the leaf itself.
    let earlier = snapshot.recent.len() - usize::from(at.is_in_prompt() && !snapshot.recent.is_empty());
    context.recent = snapshot.recent.iter().take(earlier).cloned().collect();
    let so_far = HookProposal::starting_at(Arc::clone(&snapshot.world));
    let proposal = rule_services.hooks.run(Hook::QuickReplies, &context, so_far).await;
    let mut replies = Vec::new();
    for (plugin, answer) in proposal.answers {
        if let HookAnswer::QuickReplies(offered) = answer {
            let own = |reply: clotho_plugin::PluginQuickReply| SuggestedReply {
                plugin: plugin.clone(),
                label: reply.label,
                send: reply.send,
            };
            replies.extend(offered.into_iter().map(own));
        }
    }
    ReplySuggestions { replies, problems: proposal.delta.problems }
}
