//! How plugins show a reply (`docs/modders.md`): `on_display` of each in force at its node, one after the other, whenever
//! somebody looks at it. The node keeps its text, and so do prompts and files.
//!
//! Who reads a line only notes which replies somebody shows ([`Display::asks`]); scripts run when the snapshot is closed
//! ([`Display::show`]), so that nobody who reads waits for them. What they go by is read some replies at a time: a page of
//! large worlds is never held as a whole. What they said is remembered (`display_cache.rs`).

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
use crate::turn::rules::hooks::{self, HookContext, in_order};
use crate::turn::{TurnError, TurnServices, rules::rules_in_force, rules::violations};

/// So many replies are read at once for those who show them.
const PAGE: usize = 8;

/// Shows the replies of one look.
#[derive(Clone)]
pub struct ReplyDisplay {
    services: Arc<TurnServices>,
    catalogue: Arc<Catalogue>,
}

/// A reply that somebody shows.
enum DisplayState {
    /// It was shown lately, and nothing that it was made of has changed.
    Cached(DisplayResult),
    /// What they go by who show it.
    Asked(Box<DisplayRequest>),
}

struct DisplayRequest {
    key: DisplayKey,
    context: HookContext,
    /// The world after the reply.
    world: Arc<World>,
}

impl ReplyDisplay {
    /// For one look; `None` where no plugin of this server has a say in how replies are shown.
    pub(in crate::turn) fn new(parts: &Arc<TurnServices>) -> Option<Self> {
        let catalogue = parts.catalogue.now();
        let mut loaded = catalogue.entries().filter_map(|entry| entry.state.as_ref().ok());
        let is_any = loaded.any(|loaded| loaded.has(Hook::OnDisplay));
        is_any.then(|| Self { services: Arc::clone(parts), catalogue: Arc::clone(&catalogue) })
    }

    /// Whether a plugin in force at a node has a say in how it is shown.
    ///
    /// # Errors
    /// The database fails.
    pub fn asks(&self, reader: &mut StoreReader<'_>, placed: &StoredNode) -> Result<bool, TurnError> {
        if !is_displayable(&placed.node) {
            return Ok(false);
        }
        let rules = reader.rules(placed)?;
        Ok(rules.plugins.iter().any(|plugin| self.has_hook(&plugin.id)))
    }

    /// How plugins show some nodes whose texts are shown like this without them, in the same order. What is gone meanwhile
    /// nobody changes.
    ///
    /// # Errors
    /// The database fails.
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
            let showings = self.services.store.read_inline(read).await?;
            for ((slot, (node, _)), showing) in slots.iter_mut().zip(some.iter()).zip(showings) {
                *slot = match showing {
                    None => continue,
                    Some(DisplayState::Cached(shown)) => shown,
                    Some(DisplayState::Asked(asked)) => self.display_reply(*node, *asked).await,
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
        let Some(held) = reader.session(caller, session)? else { return Ok(Vec::new()) };
        let mut casts = HashMap::new();
        let mut one = |(node, text): &(NodeId, String)| {
            let Some(placed) = reader.node(&held, *node)?.filter(|placed| is_displayable(&placed.node)) else {
                return Ok(None);
            };
            let made = self.display_key(reader, &held, &placed, text, &mut casts)?;
            // Who is switched off is named each time.
            let is_whole = !self.is_any_disabled(reader, session, &made.rules)?;
            if let Some(shown) = Some(*node).filter(|_| is_whole).and_then(|node| self.services.shown.find(node, &made))
            {
                return Ok(Some(DisplayState::Cached(shown)));
            }
            let (stage, world) = (self.hook_context(reader, &held, &placed, &made)?, reader.world(&held, &placed)?);
            Ok(Some(DisplayState::Asked(Box::new(DisplayRequest { key: made, context: stage, world }))))
        };
        texts.iter().map(&mut one).collect()
    }

    fn display_key(
        &self,
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        placed: &StoredNode,
        text: &str,
        casts: &mut HashMap<Option<CharacterId>, PromptCast>,
    ) -> Result<DisplayKey, TurnError> {
        let node = &placed.node;
        let cast = cast_of(casts, reader, held, node.character)?;
        Ok(DisplayKey {
            arrangement_edit: held.session.edits,
            place: (node.depth, node.turn),
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
            let shows = self.catalogue.get(&plugin.id).filter(|plugin| plugin.has(Hook::OnDisplay));
            if let Some(plugin) = shows
                && self.services.hooks.is_disabled_here(reader, session, plugin)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a plugin has a say in how replies are shown.
    fn has_hook(&self, plugin: &str) -> bool {
        self.catalogue.get(plugin).is_some_and(|plugin| plugin.has(Hook::OnDisplay))
    }

    fn hook_context(
        &self,
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        placed: &StoredNode,
        made: &DisplayKey,
    ) -> Result<HookContext, TurnError> {
        let node = &placed.node;
        let count = |n: i32| u64::try_from(n).unwrap_or(0);
        let players = rules_in_force::active_plugins(&made.rules.plugins, &self.catalogue);
        Ok(HookContext {
            session: held.session.id,
            plugins: players.into_iter().filter(|one| one.plugin.has(Hook::OnDisplay)).collect(),
            rules: Arc::new(made.rules.rules.clone()),
            world: reader.world_before(held, placed)?,
            text: Arc::clone(&made.text),
            role: node.role.word(),
            user: made.user.clone(),
            character: made.character.clone(),
            node: HookNodeInfo {
                id: node.id.to_string(),
                depth: count(node.depth),
                turn: count(node.turn),
                time: Some(node.created),
            },
            recent: Arc::from([]),
            seeds: DiceSeeds { session: held.session.seed, node: node.dice_seed },
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
        DisplayRequest { key: made, context: mut stage, world }: DisplayRequest,
    ) -> DisplayResult {
        let mut shown = DisplayResult::default();
        let mut is_theirs = true;
        for player in in_order(&stage.plugins) {
            let id = player.plugin.id();
            match self.services.hooks.run_read_only(Hook::OnDisplay, &stage, &player, &world).await {
                None => {
                    is_theirs = false;
                    shown.problems.push(violations::off(id));
                }
                Some(outcome) => {
                    is_theirs &= outcome.error.as_ref().is_none_or(|error| error.kind != ScriptErrorKind::Host);
                    shown.problems.extend(outcome.error.as_ref().map(|error| hooks::failed(id, error)));
                    if let HookAnswer::Display(text) = outcome.answer {
                        stage.text = Arc::from(text.as_str());
                        shown.text = Some(text);
                    }
                }
            }
        }
        // What is our own doing, as that somebody is switched off or no thread was to be had, may be otherwise the next time.
        if is_theirs {
            self.services.shown.keep(node, made, shown.clone());
        }
        shown
    }
}

/// Whether a node is what plugins may show in another way: a reply or a greeting that is whole.
pub(in crate::turn) fn is_displayable(node: &Node) -> bool {
    let is_message = matches!(node.kind, Kind::Message | Kind::Greeting);
    is_message && node.role == Role::Assistant && node.status == Status::Complete
}

/// Who speaks, as it is read once for each speaker of a look.
fn cast_of<'c>(
    casts: &'c mut HashMap<Option<CharacterId>, PromptCast>,
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    speaker: Option<CharacterId>,
) -> Result<&'c PromptCast, TurnError> {
    Ok(match casts.entry(speaker) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(cast::read(reader, &held.session, speaker, &UserPersona::default())?),
    })
}
