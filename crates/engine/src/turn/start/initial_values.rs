//! What lorebooks say that the values of a story begin with: entries whose title holds `[initvar]`, of the books that hold
//! for whoever plays. They are read also where they are switched off, as their authors keep them, and no prompt has them.

use serde_json::{Map, Value};

use clotho_compat::prompt::lore::LorebookScope;
use clotho_core::ids::{CharacterId, PersonaId, SessionId, UserId};
use clotho_core::tree::{NodeProblem, lorebook};
use clotho_plugin::{InitVarText, unread_starts};
use clotho_store::{BindingTarget, HeldBook, StoreError, StoreReader};

use crate::turn::ask::lore::ActiveLorebooks;
use crate::turn::ask::lorebook_cache::LorebookCache;
use crate::turn::rules::hooks::ActivePlugin;

/// So many entries are read, each so far, in bytes.
const MAX_ENTRIES: usize = 50;
const MAX_ENTRY_BYTES: usize = 64 << 10;

/// Whose books are looked through.
#[derive(Debug)]
pub struct InitialValueScope<'a> {
    /// Whose session it is.
    pub owner: UserId,
    /// The characters with their cards as they are now.
    pub characters: &'a [(CharacterId, &'a Map<String, Value>)],
    /// The persona.
    pub persona: Option<PersonaId>,
    /// The session, if there is one already.
    pub session: Option<SessionId>,
}

/// The entries, in the order of their books; macros are not filled in.
///
/// # Errors
/// The database fails.
pub fn read_initial_values(
    reader: &mut StoreReader<'_>,
    whose: &InitialValueScope<'_>,
    shelf: &LorebookCache,
) -> Result<Vec<InitVarText>, StoreError> {
    let mut held: Vec<(LorebookScope, HeldBook)> = Vec::new();
    let mut take = |book: HeldBook| {
        if !held.iter().any(|(_, other)| other.id == book.id) {
            held.push((LorebookScope::Character, book));
        }
    };
    for holds in [Some(BindingTarget::Everything), whose.persona.map(BindingTarget::Persona)].into_iter().flatten() {
        reader.bound_lorebooks(whose.owner, holds)?.into_iter().for_each(&mut take);
    }
    for (id, card) in whose.characters {
        for book in lorebook::card_lorebooks(card) {
            reader.lorebook_version(whose.owner, book)?.into_iter().for_each(&mut take);
        }
        reader.bound_lorebooks(whose.owner, BindingTarget::Character(*id))?.into_iter().for_each(&mut take);
    }
    if let Some(session) = whose.session {
        reader.bound_lorebooks(whose.owner, BindingTarget::Session(session))?.into_iter().for_each(&mut take);
    }
    let mut books = ActiveLorebooks::default();
    books.take(reader, whose.owner, shelf, held)?;
    let entries = books.books().flat_map(|(_, book)| &book.entries).filter(|entry| entry.labels.is_initial_values());
    let short = |text: &str| text.get(..text.floor_char_boundary(MAX_ENTRY_BYTES)).unwrap_or_default().to_owned();
    Ok(entries
        .take(MAX_ENTRIES)
        .map(|entry| InitVarText { name: entry.title.clone(), text: short(&entry.content) })
        .collect())
}

/// What people are told where texts that values begin with cannot be read, if a plugin that begins asks for them.
pub fn unreadable_values(players: &[ActivePlugin], starts: &[InitVarText], greeting: &str) -> Vec<NodeProblem> {
    let Some(player) = players.iter().find(|player| player.plugin.reads_init_vars()) else { return Vec::new() };
    let trouble =
        |message| NodeProblem { code: "start_unread".into(), message, plugin: Some(player.plugin.id().to_owned()) };
    unread_starts(starts, greeting).into_iter().map(trouble).collect()
}
