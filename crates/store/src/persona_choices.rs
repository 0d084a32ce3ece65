//! The persona that new sessions get when a request names none: the one that is locked to their first character, or
//! the default persona of the owner.
//!
//! A choice stays while its persona or character is in the trash. It does not count meanwhile.

use diesel::QueryResult;
use diesel::prelude::*;

use clotho_core::ids::{CharacterId, PersonaId, UserId};
use clotho_core::tree::edit::TreeError;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{characters, persona_choices, personas, users};
use super::tx::Tx;

/// The personas that a user chose for new sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonaChoices {
    /// The default persona.
    pub default: Option<PersonaId>,
    /// Characters with the persona that is locked to each, oldest character first.
    pub locks: Vec<(CharacterId, PersonaId)>,
}

impl PersonaChoices {
    /// Returns the persona for a new session with a character: the locked one, or the default.
    #[must_use]
    pub fn persona_for(&self, character: CharacterId) -> Option<PersonaId> {
        let locked = self.locks.iter().find(|(id, _)| *id == character).map(|(_, persona)| *persona);
        locked.or(self.default)
    }
}

/// The target of a choice as stored: the character's id, or nothing for the default.
fn target(character: Option<CharacterId>) -> Vec<u8> {
    character.map_or_else(Vec::new, |id| id.as_bytes().to_vec())
}

/// Returns whether one of the owner's rows exists outside the trash.
macro_rules! is_there {
    ($conn:expr, $table:ident, $owner_n:expr, $id:expr) => {
        $table::table
            .filter($table::owner_n.eq($owner_n))
            .filter($table::trashed.is_null())
            .filter($table::id.eq($id))
            .count()
            .get_result::<i64>($conn)
            .map(|n| n > 0)
    };
}

impl StoreReader<'_> {
    /// Returns the caller's choices whose persona and character exist outside the trash.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn persona_choices(&mut self, caller: UserId) -> Result<PersonaChoices, StoreError> {
        let owner = users::table.filter(users::id.eq(caller.as_bytes().to_vec())).select(users::n);
        let Some(owner_n) = owner.get_result::<i64>(self.conn).optional()? else {
            return Ok(PersonaChoices::default());
        };
        let own = persona_choices::table.filter(persona_choices::owner_n.eq(owner_n));
        let rows: Vec<(Vec<u8>, Vec<u8>)> =
            own.select((persona_choices::target, persona_choices::persona)).load(self.conn)?;
        let ids: Vec<Vec<u8>> = rows.iter().map(|(_, persona)| persona.clone()).collect();
        let people: Vec<Vec<u8>> = personas::table
            .filter(personas::owner_n.eq(owner_n))
            .filter(personas::trashed.is_null())
            .filter(personas::id.eq_any(ids))
            .select(personas::id)
            .load(self.conn)?;
        let ids: Vec<Vec<u8>> = rows.iter().map(|(target, _)| target.clone()).collect();
        let cards: Vec<Vec<u8>> = characters::table
            .filter(characters::owner_n.eq(owner_n))
            .filter(characters::trashed.is_null())
            .filter(characters::id.eq_any(ids))
            .order(characters::n)
            .select(characters::id)
            .load(self.conn)?;
        let persona_of = |target: &[u8]| {
            let (_, persona) = rows.iter().find(|(at, persona)| at == target && people.contains(persona))?;
            PersonaId::from_slice(persona)
        };
        let lock = |card: &Vec<u8>| Some((CharacterId::from_slice(card)?, persona_of(card)?));
        Ok(PersonaChoices { default: persona_of(&[]), locks: cards.iter().filter_map(lock).collect() })
    }
}

impl Tx<'_> {
    /// Chooses the caller's persona for new sessions with a character, or the default persona if there is no
    /// character. Without a persona, the choice is removed.
    ///
    /// # Errors
    /// Returns an error if the character or the persona does not exist or belongs to another user.
    pub fn choose_persona(
        &mut self,
        owner: UserId,
        character: Option<CharacterId>,
        persona: Option<PersonaId>,
    ) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        if let Some(id) = character {
            let bytes = id.as_bytes().to_vec();
            if !self.run(|conn| Ok(is_there!(conn, characters, owner_n, bytes)?))? {
                return Err(TreeError::NotFound("the character").into());
            }
        }
        if let Some(id) = persona {
            let bytes = id.as_bytes().to_vec();
            if !self.run(|conn| Ok(is_there!(conn, personas, owner_n, bytes)?))? {
                return Err(TreeError::NotFound("the persona").into());
            }
        }
        self.run(|conn| Ok(replace_choice(conn, owner_n, &target(character), persona)?))?;
        Ok(())
    }

    /// Chooses a persona as [`Tx::choose_persona`] does, unless the caller has a choice there already.
    ///
    /// # Errors
    /// Returns an error if the character or the persona does not exist or belongs to another user.
    pub fn suggest_persona(
        &mut self,
        owner: UserId,
        character: Option<CharacterId>,
        persona: PersonaId,
    ) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        let own = persona_choices::table
            .filter(persona_choices::owner_n.eq(owner_n))
            .filter(persona_choices::target.eq(target(character)));
        let is_chosen = self.run(|conn| Ok(own.count().get_result::<i64>(conn)? > 0))?;
        if is_chosen { Ok(()) } else { self.choose_persona(owner, character, Some(persona)) }
    }
}

fn replace_choice(conn: &mut Conn, owner_n: i64, target: &[u8], persona: Option<PersonaId>) -> QueryResult<()> {
    let old = persona_choices::table
        .filter(persona_choices::owner_n.eq(owner_n))
        .filter(persona_choices::target.eq(target.to_vec()));
    diesel::delete(old).execute(conn)?;
    let Some(persona) = persona else { return Ok(()) };
    let row = (
        persona_choices::owner_n.eq(owner_n),
        persona_choices::target.eq(target.to_vec()),
        persona_choices::persona.eq(persona.as_bytes().to_vec()),
    );
    diesel::insert_into(persona_choices::table).values(row).execute(conn).map(|_| ())
}

/// Deletes choices whose persona or character no longer exists, not even in the trash.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn delete_orphans(conn: &mut Conn) -> QueryResult<usize> {
    let has_persona = persona_choices::persona.eq_any(personas::table.select(personas::id));
    let has_target = persona_choices::target
        .eq(Vec::<u8>::new())
        .or(persona_choices::target.eq_any(characters::table.select(characters::id)));
    diesel::delete(persona_choices::table.filter(diesel::dsl::not(has_persona.and(has_target)))).execute(conn)
}
