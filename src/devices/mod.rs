//! Paired LAN devices: their secrets and when they expire.
//!
//! A peer in the list of trusted networks is the local owner. Every other client must present the secret that pairing
//! gave it. Secrets are looked up in memory, so that revoking works at once; the database keeps them for the next
//! start. `pairing_codes.rs` has the single-use codes by which a device gets its secret, `addresses.rs` the local
//! addresses.

pub mod addresses;
mod pairing_codes;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::watch;

use clotho_config::{IpNetwork, ServerConfig};
use clotho_core::clock::Time;
use clotho_core::ids::DeviceId;
use clotho_store::PairedDevice;

use addresses::LocalAddresses;
pub use pairing_codes::{ClaimResult, LIFETIME_MS};
use pairing_codes::{PairingCodes, TypedForm};

/// How many devices may be paired.
pub const MAX_DEVICES: usize = 64;
/// Minimum time between two writes of a device's last-seen time, in milliseconds.
const SEEN_INTERVAL_MS: i64 = 3_600 * 1_000;
/// A device that was not seen for this long expires: a year, in seconds, like its cookie.
pub const EXPIRY_S: i64 = 365 * 24 * 3_600;

/// The paired devices of a server, and the open pairing codes.
pub struct Devices {
    serves_lan: bool,
    trusted: Vec<IpNetwork>,
    /// The addresses of this machine.
    pub addresses: LocalAddresses,
    port: OnceLock<u16>,
    by_secret: Mutex<HashMap<[u8; 32], PairedDevice>>,
    codes: Mutex<PairingCodes>,
    /// Incremented by each revocation.
    revoked: watch::Sender<u64>,
}

/// A pairing code in its two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingOffer {
    /// The form for links: 32 hex digits.
    pub code: String,
    /// The form for typing: 8 characters, or 16 while somebody guesses codes.
    pub short: String,
}

/// The system has no randomness to give.
#[derive(Debug, thiserror::Error)]
#[error("the system provides no randomness")]
pub struct RandomnessError;

impl Devices {
    /// Creates the registry with the devices from the database.
    pub fn new(server: &ServerConfig, paired: Vec<PairedDevice>) -> Self {
        Self {
            serves_lan: server.lan,
            trusted: server.trusted_peers.clone(),
            addresses: LocalAddresses::default(),
            port: OnceLock::new(),
            by_secret: Mutex::new(paired.into_iter().map(|device| (device.secret, device)).collect()),
            codes: Mutex::default(),
            revoked: watch::Sender::new(0),
        }
    }

    /// Returns whether other devices of the LAN may connect at all.
    pub const fn serves_lan(&self) -> bool {
        self.serves_lan
    }

    /// Sets the port that the server listens on. Only the first call counts.
    pub fn set_port(&self, port: u16) {
        // A program serves only once.
        let _ = self.port.set(port);
    }

    /// Returns the port that the server listens on; 0 before [`Devices::set_port`].
    pub fn port(&self) -> u16 {
        self.port.get().copied().unwrap_or(0)
    }

    /// Returns whether a peer counts as the local owner.
    pub fn is_trusted_peer(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.trusted.iter().any(|network| network.contains(peer))
    }

    /// Returns the device with this secret, unless it has expired.
    pub fn find_by_secret(&self, secret: &str, now: Time) -> Option<DeviceId> {
        let paired = lock(&self.by_secret);
        let device = paired.get(&hash(secret))?;
        (now.millis_since(device.last_seen) / 1_000 < EXPIRY_S.unsigned_abs()).then_some(device.id)
    }

    /// Returns whether a device is still paired.
    pub fn contains(&self, id: DeviceId) -> bool {
        lock(&self.by_secret).values().any(|device| device.id == id)
    }

    /// Records that a device was seen. Returns whether the database must be updated.
    pub fn mark_seen(&self, id: DeviceId, now: Time) -> bool {
        let mut paired = lock(&self.by_secret);
        let Some(device) = paired.values_mut().find(|device| device.id == id) else { return false };
        let is_due = now.0.saturating_sub(device.last_seen.0) >= SEEN_INTERVAL_MS;
        if is_due {
            device.last_seen = now;
        }
        is_due
    }

    /// Returns whether no more devices can be paired.
    pub fn is_full(&self) -> bool {
        lock(&self.by_secret).len() >= MAX_DEVICES
    }

    /// Returns all devices, oldest first.
    pub fn all(&self) -> Vec<PairedDevice> {
        let mut all: Vec<PairedDevice> = lock(&self.by_secret).values().cloned().collect();
        all.sort_by_key(|device| (device.created, device.id));
        all
    }

    /// Creates a code with which one device can be paired within [`LIFETIME_MS`].
    ///
    /// # Errors
    /// Returns an error if the system has no randomness to give.
    pub fn offer_pairing(&self, now: Time) -> Result<PairingOffer, RandomnessError> {
        let mut codes = lock(&self.codes);
        let form = codes.needed_form(now);
        let short = match form {
            TypedForm::Short => new_typed_code::<8>()?,
            TypedForm::Long => new_typed_code::<16>()?,
        };
        let offer = PairingOffer { code: random::<16>()?, short };
        codes.add([hash(&offer.code), hash(&offer.short)], form, now);
        Ok(offer)
    }

    /// Checks a pairing code. A valid one is used up. `client` is the address of the device that sends it.
    pub fn claim_pairing(&self, code: &str, client: Option<IpAddr>, now: Time) -> ClaimResult {
        lock(&self.codes).claim(&hash(&normalize_code(code)), client, now)
    }

    /// Adds a device that is already stored in the database.
    pub fn add(&self, device: PairedDevice) {
        lock(&self.by_secret).insert(device.secret, device);
    }

    /// Renames a device.
    pub fn rename(&self, id: DeviceId, name: &str) {
        if let Some(device) = lock(&self.by_secret).values_mut().find(|device| device.id == id) {
            name.clone_into(&mut device.name);
        }
    }

    /// Revokes a device and notifies its open connections.
    pub fn revoke(&self, id: DeviceId) {
        lock(&self.by_secret).retain(|_, device| device.id != id);
        self.revoked.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Returns a receiver that changes with every revocation.
    pub fn subscribe_revocations(&self) -> watch::Receiver<u64> {
        self.revoked.subscribe()
    }
}

/// Generates a new secret. Returns it with the hash that is stored.
///
/// # Errors
/// Returns an error if the system has no randomness to give.
pub fn new_secret() -> Result<(String, [u8; 32]), RandomnessError> {
    let secret = random::<32>()?;
    let hashed = hash(&secret);
    Ok((secret, hashed))
}

/// Returns `BYTES` random bytes in hex.
fn random<const BYTES: usize>() -> Result<String, RandomnessError> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes).map_err(|_| RandomnessError)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The alphabet of codes to type: without i, l, o and u, which are easy to confuse.
const SHORT_CODE_ALPHABET: [char; 32] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'j', 'k', 'm', 'n', 'p',
    'q', 'r', 's', 't', 'v', 'w', 'x', 'y', 'z',
];

/// Returns characters of 5 random bits each.
fn new_typed_code<const CHARS: usize>() -> Result<String, RandomnessError> {
    let mut bytes = [0_u8; CHARS];
    getrandom::fill(&mut bytes).map_err(|_| RandomnessError)?;
    Ok(bytes.iter().filter_map(|byte| SHORT_CODE_ALPHABET.get(usize::from(byte % 32))).collect())
}

/// Normalizes a typed code: ignores case, spaces and dashes, and maps `o` to `0`, `i` and `l` to `1`.
fn normalize_code(typed: &str) -> String {
    let code = typed.chars().filter(|c| !c.is_whitespace() && *c != '-');
    code.map(|c| match c.to_ascii_lowercase() {
        'o' => '0',
        'i' | 'l' => '1',
        c => c,
    })
    .collect()
}

/// Hashes a secret. One round is enough, because secrets are fully random. Lookups compare hashes, so their timing
/// reveals nothing about secrets.
fn hash(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices() -> Devices {
        let device = PairedDevice {
            id: DeviceId::new(uuid::Uuid::from_u128(1)),
            name: "Phone".into(),
            secret: hash("secret"),
            created: Time(0),
            last_seen: Time(0),
        };
        Devices::new(&ServerConfig::default(), vec![device])
    }

    #[test]
    fn device_secret_is_valid_until_revoked() {
        let devices = devices();
        let id = devices.find_by_secret("secret", Time(1)).unwrap();
        assert_eq!(devices.find_by_secret("other", Time(1)), None);
        let mut revoked = devices.subscribe_revocations();
        devices.revoke(id);
        assert!(revoked.has_changed().unwrap() && !devices.contains(id));
        revoked.mark_unchanged();
        assert_eq!(devices.find_by_secret("secret", Time(1)), None);
    }

    #[test]
    fn pairing_code_typed_variants_are_normalized() {
        let devices = devices();
        for typed in [
            |short: &str| short.to_owned(),
            |short: &str| {
                let (one, two) = short.split_at(4);
                format!(" {}-{} ", one.to_uppercase().replace('0', "O"), two.replace('1', "l"))
            },
        ] {
            let offer = devices.offer_pairing(Time(0)).unwrap();
            assert!(offer.short.len() == 8 && offer.code.len() == 32, "{offer:?}");
            assert_eq!(devices.claim_pairing(&typed(&offer.short), None, Time(1)), ClaimResult::Accepted, "{offer:?}");
            assert_eq!(devices.claim_pairing(&offer.code, None, Time(1)), ClaimResult::Invalid);
        }
    }

    #[test]
    fn pairing_offer_while_codes_are_guessed_is_long_to_type() {
        let devices = devices();
        for _ in 0..pairing_codes::MAX_WRONG_CODES {
            devices.claim_pairing("wrong", None, Time(0));
        }
        let offer = devices.offer_pairing(Time(1)).unwrap();
        assert!(offer.short.len() == 16 && offer.code.len() == 32, "{offer:?}");
        assert_eq!(devices.claim_pairing(&offer.short.to_uppercase(), None, Time(2)), ClaimResult::Accepted);
    }

    #[test]
    fn device_unseen_for_a_year_expires() {
        let devices = devices();
        let year = EXPIRY_S * 1_000;
        assert!(devices.find_by_secret("secret", Time(year - 1)).is_some());
        assert!(devices.find_by_secret("secret", Time(year)).is_none());
    }

    #[test]
    fn device_last_seen_is_written_once_an_hour() {
        let devices = devices();
        let id = devices.find_by_secret("secret", Time(0)).unwrap();
        assert!(!devices.mark_seen(id, Time(SEEN_INTERVAL_MS - 1)));
        assert!(devices.mark_seen(id, Time(SEEN_INTERVAL_MS)));
        assert!(!devices.mark_seen(id, Time(SEEN_INTERVAL_MS + 1)));
    }

    #[test]
    fn device_peer_trust_depends_on_address() {
        let devices = devices();
        for (peer, is_trusted) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("192.168.0.2", false),
            ("::2", false),
            ("::ffff:192.168.0.2", false),
        ] {
            assert_eq!(devices.is_trusted_peer(peer.parse().unwrap()), is_trusted, "{peer}");
        }
    }
}
