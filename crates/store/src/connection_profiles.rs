//! Connection profiles: named sets of model settings of one user. A session remembers the profile that was chosen for it
//! by its id, and has its own copy of the settings.

use diesel::prelude::*;
use serde_json::Value;

use clotho_core::clock::Time;
use clotho_core::ids::{ConnectionProfileId, UserId};
use clotho_core::tree::ConnectionSettings;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::limits;

use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{connection_profiles, users};
use super::tree_writes::check_storable_text;
use super::tx::Tx;

/// A connection profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionProfile {
    pub id: ConnectionProfileId,
    /// The name, unique among the profiles of its owner.
    pub name: String,
    pub settings: ConnectionSettings,
    pub created: Time,
    pub updated: Time,
}

type ProfileColumns = (i64, Vec<u8>, String, String, i64, i64);

/// The columns of [`ProfileColumns`].
const COLUMNS: (
    connection_profiles::n,
    connection_profiles::id,
    connection_profiles::name,
    connection_profiles::settings,
    connection_profiles::created,
    connection_profiles::updated,
) = (
    connection_profiles::n,
    connection_profiles::id,
    connection_profiles::name,
    connection_profiles::settings,
    connection_profiles::created,
    connection_profiles::updated,
);

impl StoreReader<'_> {
    /// Returns the caller's profiles by name, after skipping `skip` of them.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn connection_profiles(
        &mut self,
        caller: UserId,
        skip: i64,
        limit: i64,
    ) -> Result<Vec<ConnectionProfile>, StoreError> {
        let rows: Vec<ProfileColumns> = connection_profiles::table
            .inner_join(users::table.on(users::n.eq(connection_profiles::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .order((connection_profiles::name, connection_profiles::n))
            .offset(skip)
            .limit(limit)
            .select(COLUMNS)
            .load(self.conn)?;
        rows.into_iter().map(profile).collect()
    }

    /// Returns those of the caller's profiles that have one of these ids, in any order.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn connection_profiles_by_id(
        &mut self,
        caller: UserId,
        ids: &[ConnectionProfileId],
    ) -> Result<Vec<ConnectionProfile>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Vec<u8>> = ids.iter().map(|id| id.as_bytes().to_vec()).collect();
        let rows: Vec<ProfileColumns> = connection_profiles::table
            .inner_join(users::table.on(users::n.eq(connection_profiles::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(connection_profiles::id.eq_any(ids))
            .select(COLUMNS)
            .load(self.conn)?;
        rows.into_iter().map(profile).collect()
    }
}

fn profile((n, id, name, settings, created, updated): ProfileColumns) -> Result<ConnectionProfile, StoreError> {
    let damaged = |column| StoreError::Inconsistent { table: "connection_profiles", column, row: n };
    let id = ConnectionProfileId::from_slice(&id).ok_or_else(|| damaged("id"))?;
    let settings: Value = serde_json::from_str(&settings).map_err(|_| damaged("settings"))?;
    let settings = ConnectionSettings::from_json(&settings).ok_or_else(|| damaged("settings"))?;
    Ok(ConnectionProfile { id, name, settings, created: Time(created), updated: Time(updated) })
}

impl Tx<'_> {
    /// Adds a profile.
    ///
    /// # Errors
    /// Returns an error if the name is invalid or taken, or if the database fails.
    pub fn put_connection_profile(&mut self, owner: UserId, new: &ConnectionProfile) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        self.check_profile_name(owner_n, new)?;
        self.run(|conn| {
            let newest: Option<i64> =
                connection_profiles::table.select(diesel::dsl::max(connection_profiles::n)).get_result(conn)?;
            let row = (
                connection_profiles::n.eq(newest.unwrap_or(0) + 1),
                connection_profiles::id.eq(new.id.as_bytes().to_vec()),
                connection_profiles::owner_n.eq(owner_n),
                connection_profiles::name.eq(&new.name),
                connection_profiles::settings.eq(new.settings.to_json().to_string()),
                connection_profiles::created.eq(new.created.0),
                connection_profiles::updated.eq(new.updated.0),
            );
            diesel::insert_into(connection_profiles::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Returns one of the owner's profiles, to change it.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn connection_profile(
        &mut self,
        owner: UserId,
        id: ConnectionProfileId,
    ) -> Result<ConnectionProfile, WriteError> {
        let n = self.profile_row(owner, id)?;
        let row: ProfileColumns =
            self.run(|conn| Ok(connection_profiles::table.find(n).select(COLUMNS).get_result(conn)?))?;
        Ok(self.run(|_| profile(row))?)
    }

    /// Replaces name and settings of one of the owner's profiles. Sessions stay as they are.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user, or the name is invalid or taken.
    pub fn update_connection_profile(&mut self, owner: UserId, new: &ConnectionProfile) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        let n = self.profile_row(owner, new.id)?;
        self.check_profile_name(owner_n, new)?;
        let set = (
            connection_profiles::name.eq(&new.name),
            connection_profiles::settings.eq(new.settings.to_json().to_string()),
            connection_profiles::updated.eq(new.updated.0),
        );
        self.run(|conn| Ok(diesel::update(connection_profiles::table.find(n)).set(set).execute(conn)?))?;
        Ok(())
    }

    /// Deletes one of the owner's profiles. Sessions keep their settings.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn delete_connection_profile(&mut self, owner: UserId, id: ConnectionProfileId) -> Result<(), WriteError> {
        let n = self.profile_row(owner, id)?;
        self.run(|conn| Ok(diesel::delete(connection_profiles::table.find(n)).execute(conn)?))?;
        Ok(())
    }

    fn profile_row(&mut self, owner: UserId, id: ConnectionProfileId) -> Result<i64, WriteError> {
        let owner_n = self.user_row(owner)?;
        let own: Option<i64> = self.run(|conn| {
            let own = connection_profiles::table
                .filter(connection_profiles::id.eq(id.as_bytes().to_vec()))
                .filter(connection_profiles::owner_n.eq(owner_n));
            Ok(own.select(connection_profiles::n).get_result(conn).optional()?)
        })?;
        Ok(own.ok_or(TreeError::NotFound("the connection profile"))?)
    }

    /// Checks the name of a profile, and that no other profile of the owner has it.
    fn check_profile_name(&mut self, owner_n: i64, new: &ConnectionProfile) -> Result<(), WriteError> {
        limits::check_profile_name(&new.name)?;
        check_storable_text("name", &new.name)?;
        if self.run(|conn| is_name_taken(conn, owner_n, new))? {
            let message = format!("another connection profile has the name \"{}\": choose another name", new.name);
            return Err(TreeError::Invalid { field: "name", message }.into());
        }
        Ok(())
    }
}

fn is_name_taken(conn: &mut Conn, owner_n: i64, new: &ConnectionProfile) -> Result<bool, StoreError> {
    let same = connection_profiles::table
        .filter(connection_profiles::owner_n.eq(owner_n))
        .filter(connection_profiles::name.eq(&new.name))
        .filter(connection_profiles::id.ne(new.id.as_bytes().to_vec()));
    let found: Option<i64> = same.select(connection_profiles::n).first(conn).optional()?;
    Ok(found.is_some())
}
