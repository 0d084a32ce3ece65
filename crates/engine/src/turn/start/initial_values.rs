//! Initial values in lorebooks: entries with `[initvar]` in the title, in the books that apply. They are read even if
//! disabled, since authors keep them so, and no prompt contains them.

use serde_json::{Map, Value};

use clotho_compat::prompt::lore::LorebookScope;
use clotho_core::ids::{CharacterId, LorebookId, PersonaId, SessionId, UserId};
use clotho_core::tree::{NodeProblem, lorebook};
use clotho_plugin::{InitVarText, initial_value_problems};
use clotho_store::{BindingTarget, LorebookVersion, StoreError, StoreReader};

use crate::turn::problem::TurnProblem;
use crate::turn::prompts::lore::ActiveLorebooks;
use crate::turn::prompts::lorebook_cache::LorebookCache;
use crate::turn::rules::hooks::ActivePlugin;

/// The maximum number of entries read.
const MAX_ENTRIES: usize = 50;
/// The maximum length of an entry in bytes; the rest is cut.
const MAX_ENTRY_BYTES: usize = 64 << 10;

/// The owners of the books to read.
#[derive(Debug)]
pub struct InitialValueScope<'a> {
    /// The owner of the session.
    pub owner: UserId,
    /// The characters with their current cards.
    pub characters: &'a [(CharacterId, &'a Map<String, Value>)],
    pub persona: Option<PersonaId>,
    /// The session, if it exists already.
    pub session: Option<SessionId>,
    /// The books to which a new session will be linked.
    pub lorebooks: &'a [LorebookId],
}

/// Reads the entries, in the order of their books, without filling in macros.
///
/// # Errors
/// Returns an error if the database fails.
pub fn read_initial_values(
    reader: &mut StoreReader<'_>,
    whose: &InitialValueScope<'_>,
    lorebooks: &LorebookCache,
) -> Result<Vec<InitVarText>, StoreError> {
    let mut found: Vec<(LorebookScope, LorebookVersion)> = Vec::new();
    let mut take = |book: LorebookVersion| {
        if !found.iter().any(|(_, other)| other.id == book.id) {
            found.push((LorebookScope::Character, book));
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
    for book in whose.lorebooks {
        reader.lorebook_version(whose.owner, *book)?.into_iter().for_each(&mut take);
    }
    let mut books = ActiveLorebooks::default();
    books.add_books(reader, whose.owner, lorebooks, found)?;
    let entries = books.books().flat_map(|(_, book)| &book.entries).filter(|entry| entry.labels.is_initial_values());
    let short = |text: &str| text.get(..text.floor_char_boundary(MAX_ENTRY_BYTES)).unwrap_or_default().to_owned();
    Ok(entries
        .take(MAX_ENTRIES)
        .map(|entry| InitVarText { name: entry.title.clone(), text: short(&entry.content) })
        .collect())
}

/// Returns problems for initial values that cannot be parsed or are left out, if a new plugin reads them.
pub fn unreadable_values(active_plugins: &[ActivePlugin], starts: &[InitVarText], greeting: &str) -> Vec<NodeProblem> {
    let Some(active) = active_plugins.iter().find(|active| active.plugin.reads_init_vars()) else { return Vec::new() };
    let trouble = |error| TurnProblem::StartUnread { error }.for_plugin(active.plugin.id());
    initial_value_problems(starts, greeting).into_iter().map(trouble).collect()
}
