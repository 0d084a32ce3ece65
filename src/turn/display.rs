//! How plugins show a reply (`docs/modders.md`): `on_display` of each in force at its node, one after the other, whenever
//! somebody looks at it. The node keeps its text, and so do prompts and files.
//!
//! Who reads a line only notes which replies somebody shows ([`Display::asks`]); scripts run when the snapshot is closed
//! ([`Display::show`]), so that nobody who reads waits for them. What they go by is read some replies at a time: a page of
//! large worlds is never held as a whole.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::ids::{CharacterId, NodeId, SessionId, UserId};
use crate::plugin::{Answer, Catalogue, Hook, NodeFacts, Seeds};
use crate::prompt::Cast;
use crate::store::{Held, Placed, Reader};
use crate::tree::{Kind, Node, Role, Status, Trouble};
use crate::world::World;

use crate::turn::cast::{self, Voice};
use crate::turn::rules::hooks::{self, Stage, in_order};
use crate::turn::{Parts, TurnError, rules::force, rules::strikes};

/// So many replies are read at once for those who show them.
const AT_ONCE: usize = 8;

/// How a reply is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Displayed {
    /// The text; `None` = nobody changed it.
    pub text: Option<String>,
    /// Why some plugin did not have its say.
    pub problems: Vec<Trouble>,
}

/// Shows the replies of one look.
#[derive(Clone)]
pub struct Display {
    parts: Arc<Parts>,
    catalogue: Arc<Catalogue>,
}

/// A reply that somebody shows: what they go by.
struct Showing {
    /// Its place among those that were asked for.
    place: usize,
    stage: Stage,
    /// The world after it.
    world: Arc<World>,
}

impl Display {
    /// For one look; `None` where no plugin of this server has a say in how replies are shown.
    pub(in crate::turn) fn new(parts: &Arc<Parts>) -> Option<Self> {
        let catalogue = parts.catalogue.now();
        let mut loaded = catalogue.entries().filter_map(|entry| entry.state.as_ref().ok());
        let is_any = loaded.any(|loaded| loaded.has(Hook::OnDisplay));
        is_any.then(|| Self { parts: Arc::clone(parts), catalogue: Arc::clone(&catalogue) })
    }

    /// Whether a plugin in force at a node has a say in how it is shown.
    ///
    /// # Errors
    /// The database fails.
    pub fn asks(&self, reader: &mut Reader<'_>, placed: &Placed) -> Result<bool, TurnError> {
        if !is_said(&placed.node) {
            return Ok(false);
        }
        let rules = reader.rules(placed)?;
        let mut playing = rules.plugins.iter().filter_map(|plugin| self.catalogue.get(&plugin.id));
        Ok(playing.any(|plugin| plugin.has(Hook::OnDisplay)))
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
    ) -> Result<Vec<Displayed>, TurnError> {
        let mut shown = vec![Displayed::default(); texts.len()];
        for (some, slots) in texts.chunks(AT_ONCE).zip(shown.chunks_mut(AT_ONCE)) {
            let (here, some) = (self.clone(), some.to_vec());
            let read = move |reader: &mut Reader<'_>| here.showings(reader, caller, session, &some);
            for Showing { place, stage, world } in self.parts.store.glance(read).await? {
                if let Some(slot) = slots.get_mut(place) {
                    *slot = self.one(stage, &world).await;
                }
            }
        }
        Ok(shown)
    }

    fn showings(
        &self,
        reader: &mut Reader<'_>,
        caller: UserId,
        session: SessionId,
        texts: &[(NodeId, String)],
    ) -> Result<Vec<Showing>, TurnError> {
        let Some(held) = reader.session(caller, session)? else { return Ok(Vec::new()) };
        let mut casts = HashMap::new();
        let mut showings = Vec::new();
        for (place, (node, text)) in texts.iter().enumerate() {
            let Some(placed) = reader.node(&held, *node)?.filter(|placed| is_said(&placed.node)) else { continue };
            let cast = cast_of(&mut casts, reader, &held, placed.node.character)?;
            let world = reader.world(&held, &placed)?;
            showings.push(Showing { place, stage: self.stage(reader, &held, &placed, text, cast)?, world });
        }
        Ok(showings)
    }

    fn stage(
        &self,
        reader: &mut Reader<'_>,
        held: &Held,
        placed: &Placed,
        text: &str,
        cast: &Cast,
    ) -> Result<Stage, TurnError> {
        let node = &placed.node;
        let count = |n: i32| u64::try_from(n).unwrap_or(0);
        let rules = reader.rules(placed)?;
        let players = force::players(&rules.plugins, &self.catalogue);
        Ok(Stage {
            session: held.session.id,
            players: players.into_iter().filter(|one| one.plugin.has(Hook::OnDisplay)).collect(),
            rules: Arc::new(rules.rules.clone()),
            world: reader.world_before(held, placed)?,
            text: Arc::from(text),
            role: node.role.word(),
            user: cast.user.clone(),
            character: node.name.clone().unwrap_or_else(|| cast.character.clone()),
            node: NodeFacts {
                id: node.id.to_string(),
                depth: count(node.depth),
                turn: count(node.turn),
                time: Some(node.created),
            },
            recent: Arc::from([]),
            seeds: Seeds { session: held.session.seed, node: node.dice_seed },
            recorded: Arc::from([]),
            answer: None,
            starts: Arc::from([]),
            replies: 0,
            is_aside: false,
        })
    }

    async fn one(&self, mut stage: Stage, world: &Arc<World>) -> Displayed {
        let mut shown = Displayed::default();
        for player in in_order(&stage.players) {
            let id = player.plugin.id();
            match self.parts.hooks.look(Hook::OnDisplay, &stage, &player, world).await {
                None => shown.problems.push(strikes::off(id)),
                Some(outcome) => {
                    shown.problems.extend(outcome.error.as_ref().map(|error| hooks::failed(id, error)));
                    if let Answer::Display(text) = outcome.answer {
                        stage.text = Arc::from(text.as_str());
                        shown.text = Some(text);
                    }
                }
            }
        }
        shown
    }
}

/// Whether a node is what plugins may show in another way: a reply or a greeting that is whole.
fn is_said(node: &Node) -> bool {
    let is_message = matches!(node.kind, Kind::Message | Kind::Greeting);
    is_message && node.role == Role::Assistant && node.status == Status::Complete
}

/// Who speaks, as it is read once for each speaker of a look.
fn cast_of<'c>(
    casts: &'c mut HashMap<Option<CharacterId>, Cast>,
    reader: &mut Reader<'_>,
    held: &Held,
    speaker: Option<CharacterId>,
) -> Result<&'c Cast, TurnError> {
    Ok(match casts.entry(speaker) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(cast::read(reader, &held.session, speaker, &Voice::default())?),
    })
}
