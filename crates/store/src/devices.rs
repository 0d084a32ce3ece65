//! Devices that an owner has paired. Only a hash of each device's secret is stored.

use diesel::prelude::*;

use clotho_core::clock::Time;
use clotho_core::ids::{DeviceId, UserId};
use clotho_core::tree::edit::TreeError;

use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{devices, users};
use super::tx::Tx;

/// A paired device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairedDevice {
    pub id: DeviceId,
    /// The display name.
    pub name: String,
    /// The hash of its secret.
    pub secret: [u8; 32],
    pub created: Time,
    /// When it was last seen, to the hour.
    pub last_seen: Time,
}

type DeviceColumns = (i64, Vec<u8>, String, Vec<u8>, i64, i64);

impl StoreReader<'_> {
    /// Returns the devices of an owner, oldest first.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn devices(&mut self, owner: UserId) -> Result<Vec<PairedDevice>, StoreError> {
        let rows: Vec<DeviceColumns> = devices::table
            .inner_join(users::table.on(users::n.eq(devices::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .order(devices::n)
            .select((devices::n, devices::id, devices::name, devices::secret, devices::created, devices::seen))
            .load(self.conn)?;
        rows.into_iter().map(device).collect()
    }
}

fn device((n, id, name, secret, created, seen): DeviceColumns) -> Result<PairedDevice, StoreError> {
    let damaged = |column| StoreError::Inconsistent { table: "devices", column, row: n };
    let id = DeviceId::from_slice(&id).ok_or_else(|| damaged("id"))?;
    let secret = secret.try_into().map_err(|_| damaged("secret"))?;
    Ok(PairedDevice { id, name, secret, created: Time(created), last_seen: Time(seen) })
}

impl Tx<'_> {
    /// Adds a device.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_device(&mut self, owner: UserId, new: &PairedDevice) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        self.run(|conn| {
            let newest: Option<i64> = devices::table.select(diesel::dsl::max(devices::n)).get_result(conn)?;
            let row = (
                devices::n.eq(newest.unwrap_or(0) + 1),
                devices::id.eq(new.id.as_bytes().to_vec()),
                devices::owner_n.eq(owner_n),
                devices::name.eq(&new.name),
                devices::secret.eq(new.secret.to_vec()),
                devices::created.eq(new.created.0),
                devices::seen.eq(new.last_seen.0),
            );
            diesel::insert_into(devices::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Renames one of the owner's devices.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn rename_device(&mut self, owner: UserId, id: DeviceId, name: &str) -> Result<(), WriteError> {
        let n = self.device_row(owner, id)?;
        self.run(|conn| Ok(diesel::update(devices::table.find(n)).set(devices::name.eq(name)).execute(conn)?))?;
        Ok(())
    }

    /// Sets when a device was last seen. A device that was deleted meanwhile is ignored.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn touch_device(&mut self, id: DeviceId, at: Time) -> Result<(), WriteError> {
        let of_id = devices::table.filter(devices::id.eq(id.as_bytes().to_vec()));
        self.run(|conn| Ok(diesel::update(of_id).set(devices::seen.eq(at.0)).execute(conn)?))?;
        Ok(())
    }

    /// Deletes one of the owner's devices, which revokes its access.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn delete_device(&mut self, owner: UserId, id: DeviceId) -> Result<(), WriteError> {
        let n = self.device_row(owner, id)?;
        self.run(|conn| Ok(diesel::delete(devices::table.find(n)).execute(conn)?))?;
        Ok(())
    }

    fn device_row(&mut self, owner: UserId, id: DeviceId) -> Result<i64, WriteError> {
        let owner_n = self.user_row(owner)?;
        let own: Option<i64> = self.run(|conn| {
            let own =
                devices::table.filter(devices::id.eq(id.as_bytes().to_vec())).filter(devices::owner_n.eq(owner_n));
            Ok(own.select(devices::n).get_result(conn).optional()?)
        })?;
        Ok(own.ok_or(TreeError::NotFound("the device"))?)
    }
}
