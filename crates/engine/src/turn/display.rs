//! How plugins show a reply (`docs/modders.md`): the `on_display` hooks in force at its node run one after the other,
//! each time the reply is read. The text of the node does not change, nor do prompts and exports.
//!
//! A reader only notes which replies have such a hook ([`ReplyDisplay::asks`]). The scripts run after the read
//! transaction ([`ReplyDisplay::show`]), so that no reader waits for them. Their context is read for [`PAGE`] replies
//! at a time, so that a page of large worlds is never in memory as a whole. Results are cached (`display_cache.rs`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use clotho_compat::prompt::PromptCast;
use clotho_core::ids::{CharacterId, NodeId, SessionId, UserId};
use clotho_core::tree::{Kind, Node, Role, Status};
use clotho_core::world::World;
use clotho_plugin::{Catalogue, DiceSeeds, Hook, HookAnswer, HookNodeInfo, ScriptErrorKind};
use clotho_store::{ActiveRules, StoreReader, StoredNode, StoredSession};

use crate::turn::cast::{self, UserPersona};
use crate::turn::display_cache::{DisplayKey, DisplayResult};
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{self, HookContext, sort_by_dependency};
use crate::turn::storage::TreeStorage;
use crate::turn::{TurnError, rules::rules_in_force, rules::violations};

/// The number of replies whose hook contexts are read at once.
const PAGE: usize = 8;

/// The display of replies for one read.
#[derive(Clone)]
pub struct ReplyDisplay {
    storage: Arc<TreeStorage>,
    rule_services: Arc<RuleServices>,
    catalogue: Arc<Catalogue>,
}

/// The state of a reply that has an `on_display` hook.
enum DisplayState {
    /// The cached result is still valid.
    Cached(DisplayResult),
    /// The hooks have to run.
    Pending(Box<DisplayRequest>),
}

struct DisplayRequest {
    key: DisplayKey,
    context: HookContext,
    /// The world after the reply.
    world: Arc<World>,
}

impl ReplyDisplay {
    /// Creates the display for one read; `None` if no plugin of this server has `on_display`.
    pub(in crate::turn) fn new(storage: &Arc<TreeStorage>, rule_services: &Arc<RuleServices>) -> Option<Self> {
        let catalogue = rule_services.catalogue.current();
        let mut loaded = catalogue.entries().filter_map(|entry| entry.state.as_ref().ok());
        let is_any = loaded.any(|loaded| loaded.has_hook(Hook::OnDisplay));
        is_any.then(|| Self {
            storage: Arc::clone(storage),
            rule_services: Arc::clone(rule_services),
            catalogue: Arc::clone(&catalogue),
        })
    }

    /// Returns whether a plugin in force at a node has `on_display`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn has_display_hook(&self, reader: &mut StoreReader<'_>, placed: &StoredNode) -> Result<bool, TurnError> {
        if !is_displayable(&placed.node) {
            return Ok(false);
        }
        let rules = reader.rules(placed)?;
        Ok(rules.plugins.iter().any(|plugin| self.has_hook(&plugin.id)))
    }

    /// Returns how plugins show some nodes, in the same order. `texts` has the default text of each node. A node that
    /// no longer exists gets the default result.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub async fn show(
        &self,
        caller: UserId,
        session: SessionId,
        texts: &[(NodeId, String)],
    ) -> Result<Vec<DisplayResult>, TurnError> {
        let mut shown = vec![DisplayResult::default(); texts.len()];
        for (some, slots) in texts.chunks(PAGE).zip(shown.chunks_mut(PAGE)) {
            let (here, some): (_, Arc<[_]>) = (self.clone(), some.into());
            let all = Arc::clone(&some);
            let read = move |reader: &mut StoreReader<'_>| here.display_states(reader, caller, session, &all);
            let showings = self.storage.store.read_inline(read).await?;
            for ((slot, (node, _)), showing) in slots.iter_mut().zip(some.iter()).zip(showings) {
                *slot = match showing {
                    None => continue,
                    Some(DisplayState::Cached(shown)) => shown,
                    Some(DisplayState::Pending(asked)) => self.display_reply(*node, *asked).await,
                };
            }
        }
        Ok(shown)
    }

    fn display_states(
        &self,
        reader: &mut StoreReader<'_>,
        caller: UserId,
        session: SessionId,
        texts: &[(NodeId, String)],
    ) -> Result<Vec<Option<DisplayState>>, TurnError> {
        let Some(stored) = reader.session(caller, session)? else { return Ok(Vec::new()) };
        let mut casts = HashMap::new();
        let mut one = |(node, text): &(NodeId, String)| {
            let Some(placed) = reader.node(&stored, *node)?.filter(|placed| is_displayable(&placed.node)) else {
                return Ok(None);
            };
            let display_key = self.display_key(reader, &stored, &placed, text, &mut casts)?;
            // While a plugin is turned off, the cache is not used: its problem is reported each time.
            let is_whole = !self.is_any_disabled(reader, session, &display_key.rules)?;
            if let Some(shown) =
                Some(*node).filter(|_| is_whole).and_then(|node| self.rule_services.shown.find(node, &display_key))
            {
                return Ok(Some(DisplayState::Cached(shown)));
            }
            let (hook_context, world) =
                (self.hook_context(reader, &stored, &placed, &display_key)?, reader.world(&stored, &placed)?);
            Ok(Some(DisplayState::Pending(Box::new(DisplayRequest { key: display_key, context: hook_context, world }))))
        };
        texts.iter().map(&mut one).collect()
    }

    fn display_key(
        &self,
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        placed: &StoredNode,
        text: &str,
        casts: &mut HashMap<Option<CharacterId>, PromptCast>,
    ) -> Result<DisplayKey, TurnError> {
        let node = &placed.node;
        let cast = cast_of(casts, reader, stored, node.character)?;
        Ok(DisplayKey {
            arrangement_edit: stored.session.edits,
            position: (node.depth, node.turn),
            rules: reader.rules(placed)?,
            catalogue: Arc::downgrade(&self.catalogue),
            text: Arc::from(text),
            user: cast.user.clone(),
            character: node.name.clone().unwrap_or_else(|| cast.character.clone()),
        })
    }

    fn is_any_disabled(
        &self,
        reader: &mut StoreReader<'_>,
        session: SessionId,
        rules: &ActiveRules,
    ) -> Result<bool, TurnError> {
        for plugin in &rules.plugins {
            let shows = self.catalogue.get(&plugin.id).filter(|plugin| plugin.has_hook(Hook::OnDisplay));
            if let Some(plugin) = shows
                && self.rule_services.hooks.is_disabled_with_reader(reader, session, plugin)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a plugin has `on_display`.
    fn has_hook(&self, plugin: &str) -> bool {
        self.catalogue.get(plugin).is_some_and(|plugin| plugin.has_hook(Hook::OnDisplay))
    }

    fn hook_context(
        &self,
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        placed: &StoredNode,
        key: &DisplayKey,
    ) -> Result<HookContext, TurnError> {
        let node = &placed.node;
        let count = |n: i32| u64::try_from(n).unwrap_or(0);
        let active_plugins = rules_in_force::active_plugins(&key.rules.plugins, &self.catalogue);
        Ok(HookContext {
            session: stored.session.id,
            plugins: active_plugins.into_iter().filter(|one| one.plugin.has_hook(Hook::OnDisplay)).collect(),
            rules: Arc::new(key.rules.rules.clone()),
            world: reader.world_before(stored, placed)?,
            text: Arc::clone(&key.text),
            role: node.role.as_str(),
            user: key.user.clone(),
            character: key.character.clone(),
            node: HookNodeInfo {
                id: node.id.to_string(),
                depth: count(node.depth),
                turn: count(node.turn),
                time: Some(node.created),
            },
            recent: Arc::from([]),
            seeds: DiceSeeds { session: stored.session.seed, node: node.dice_seed },
            recorded: Arc::from([]),
            answer: None,
            initial_values: Arc::from([]),
            replies: 0,
            is_command_only: false,
        })
    }

    async fn display_reply(
        &self,
        node: NodeId,
        DisplayRequest { key: display_key, mut context, world }: DisplayRequest,
    ) -> DisplayResult {
        let mut shown = DisplayResult::default();
        let mut is_theirs = true;
        for active in sort_by_dependency(&context.plugins) {
            let id = active.plugin.id();
            match self.rule_services.hooks.run_read_only(Hook::OnDisplay, &context, &active, &world).await {
                None => {
                    is_theirs = false;
                    shown.problems.push(violations::disabled_problem(id));
                }
                Some(outcome) => {
                    is_theirs &= outcome.error.as_ref().is_none_or(|error| error.kind != ScriptErrorKind::Host);
                    shown.problems.extend(outcome.error.as_ref().map(|error| hooks::script_problem(id, error)));
                    if let HookAnswer::Display(text) = outcome.answer {
                        context.text = Arc::from(text.as_str());
                        shown.text = Some(text);
                    }
                }
            }
        }
        // Failures of the server (a plugin turned off, no free thread) may not repeat, so they are not cached.
        if is_theirs {
            self.rule_services.shown.insert(node, display_key, shown.clone());
        }
        shown
    }
}

/// Returns whether plugins may change how a node is shown: only complete replies and greetings.
pub(in crate::turn) fn is_displayable(node: &Node) -> bool {
    let is_message = matches!(node.kind, Kind::Message | Kind::Greeting);
    is_message && node.role == Role::Assistant && node.status == Status::Complete
}

/// Reads the cast of a speaker once per read.
fn cast_of<'c>(
    casts: &'c mut HashMap<Option<CharacterId>, PromptCast>,
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    speaker: Option<CharacterId>,
) -> Result<&'c PromptCast, TurnError> {
    Ok(match casts.entry(speaker) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(cast::read(reader, &stored.session, speaker, &UserPersona::default())?),
    })
}
