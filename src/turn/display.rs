//! How plugins show a reply (`docs/modders.md`): `on_display` of each in force at its node, one after the other, whenever
//! somebody looks at it. The node keeps its text, and so do prompts and files.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::ids::CharacterId;
use crate::plugin::{Answer, Catalogue, Hook, NodeFacts, Seeds};
use crate::prompt::Cast;
use crate::store::{Held, Placed, Reader};
use crate::tree::{Kind, Role, Status, Trouble};

use crate::turn::cast::{self, Voice};
use crate::turn::rules::hooks::{self, Player, Stage, in_order};
use crate::turn::{Parts, TurnError, rules::force, rules::strikes};

/// How a reply is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Displayed {
    /// The text; `None` = nobody changed it.
    pub text: Option<String>,
    /// Why some plugin did not have its say.
    pub problems: Vec<Trouble>,
}

/// Shows the replies of one look.
pub struct Display {
    parts: Arc<Parts>,
    catalogue: Arc<Catalogue>,
    casts: HashMap<Option<CharacterId>, Cast>,
}

impl Display {
    /// For one look; `None` where no plugin of this server has a say in how replies are shown.
    pub(in crate::turn) fn new(parts: &Arc<Parts>) -> Option<Self> {
        let catalogue = parts.catalogue.now();
        let mut loaded = catalogue.entries().filter_map(|entry| entry.state.as_ref().ok());
        let is_any = loaded.any(|loaded| loaded.has(Hook::OnDisplay));
        is_any.then(|| Self { parts: Arc::clone(parts), catalogue: Arc::clone(&catalogue), casts: HashMap::new() })
    }

    /// How plugins show a node whose text is shown like this without them.
    ///
    /// # Errors
    /// The database fails.
    pub fn show(
        &mut self,
        reader: &mut Reader<'_>,
        held: &Held,
        placed: &Placed,
        text: &str,
    ) -> Result<Displayed, TurnError> {
        let node = &placed.node;
        let mut shown = Displayed::default();
        let is_said = matches!(node.kind, Kind::Message | Kind::Greeting) && node.status == Status::Complete;
        if node.role != Role::Assistant || !is_said {
            return Ok(shown);
        }
        let rules = reader.rules(placed)?;
        let players = force::players(&rules.plugins, &self.catalogue);
        let players: Vec<Player> = players.into_iter().filter(|one| one.plugin.has(Hook::OnDisplay)).collect();
        if players.is_empty() {
            return Ok(shown);
        }
        let (world, before) = (reader.world(held, placed)?, reader.world_before(held, placed)?);
        let count = |n: i32| u64::try_from(n).unwrap_or(0);
        let cast = self.cast(reader, held, node.character)?;
        let mut stage = Stage {
            session: held.session.id,
            players,
            rules: Arc::new(rules.rules.clone()),
            world: before,
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
        };
        for player in in_order(&stage.players) {
            let id = player.plugin.id();
            match self.parts.hooks.here(reader, Hook::OnDisplay, &stage, &player, &world)? {
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
        Ok(shown)
    }

    fn cast(&mut self, reader: &mut Reader<'_>, held: &Held, speaker: Option<CharacterId>) -> Result<&Cast, TurnError> {
        Ok(match self.casts.entry(speaker) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(cast::read(reader, &held.session, speaker, &Voice::default())?),
        })
    }
}
