//! Devices of the house, and how one is paired.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ids::{WireDeviceId, WireId};
use crate::http::error::ApiError;
use crate::http::response::RedactForReplay;
use clotho_core::ids::DeviceId;
use clotho_store as store;

/// The longest name, in characters.
const MAX_NAME_LENGTH: usize = 80;
/// The longest code that is looked at.
const MAX_CODE_LENGTH: usize = 200;

/// A paired device.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceResponse {
    /// Its id.
    pub id: WireDeviceId,
    /// How people call it.
    pub name: String,
    /// When it was paired.
    pub created_at: String,
    /// When it was seen last, to the hour.
    pub last_seen_at: String,
    /// Whether it is the one that asks.
    pub is_this: bool,
}

/// Asks for a code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PairingRequest {}

/// A code by which one device may be paired, in the addresses that this machine has.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairingResponse {
    /// The code that the addresses have; empty in a repeated answer.
    pub code: String,
    /// The same to type: eight letters and digits. With either, both are used up. Empty in a repeated answer.
    pub short_code: String,
    /// The addresses, the most probable first: the one of the page that asks, unless that is the machine's own, then those
    /// of this machine. None where it is in no network, and none in a repeated answer.
    pub links: Vec<PairingLink>,
    /// When the code ends.
    pub expires_at: String,
    /// The seconds until then.
    pub expires_in_s: i64,
}

/// An address that a device opens to be paired.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairingLink {
    /// The address. The code stands behind the `#`, which no browser sends and no log keeps.
    pub address: String,
    /// The same as a QR code: its rows, `1` for a dark square and `0` for a light one, without the quiet zone.
    pub modules: Vec<String>,
}

/// A device shows a code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimDeviceRequest {
    /// The code of an address, or the short one; capitals, spaces and dashes are as nobody had typed them.
    pub code: String,
}

/// Changes to a device.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateDeviceRequest {
    /// Another name.
    pub name: String,
}

impl DeviceResponse {
    /// A device for the one that asks.
    pub fn new(device: store::PairedDevice, this: Option<DeviceId>) -> Self {
        let store::PairedDevice { id, name, created, seen, .. } = device;
        Self {
            id: WireId(id),
            name,
            created_at: created.to_string(),
            last_seen_at: seen.to_string(),
            is_this: this == Some(id),
        }
    }
}

impl RedactForReplay for PairingResponse {
    /// Nothing of a code is ever written.
    fn redact_for_replay(self) -> Self {
        Self { code: String::new(), short_code: String::new(), links: Vec::new(), ..self }
    }
}

impl ClaimDeviceRequest {
    /// The code, unless nobody could have given it.
    pub fn read(&self) -> &str {
        if self.code.len() <= MAX_CODE_LENGTH { self.code.trim() } else { "" }
    }
}

impl UpdateDeviceRequest {
    /// The name, if it is one.
    ///
    /// # Errors
    /// It is empty, too long, or has characters that are none to read.
    pub fn read(self) -> Result<String, ApiError> {
        let name = self.name.trim();
        let length = name.chars().count();
        if !(1..=MAX_NAME_LENGTH).contains(&length) || name.chars().any(char::is_control) {
            return Err(ApiError::invalid("name", format!("1 to {MAX_NAME_LENGTH} characters are expected")));
        }
        Ok(name.to_owned())
    }
}

/// How a device is called until somebody names it: its browser and its system, as far as its `User-Agent` says.
pub fn name_from_user_agent(user_agent: &str) -> String {
    // Each pretends to be those behind it.
    const BROWSERS: [(&str, &str); 7] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser", "Samsung Internet"),
        ("Firefox", "Firefox"),
        ("FxiOS", "Firefox"),
        ("Chrom", "Chrome"),
        ("Safari", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("Windows", "Windows"),
        ("CrOS", "ChromeOS"),
        ("Mac OS", "Mac"),
        ("Linux", "Linux"),
    ];
    let find = |known: &[(&str, &'static str)]| {
        known.iter().find(|(word, _)| user_agent.contains(word)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} · {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "Device".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::name_from_user_agent;

    #[test]
    fn device_name_from_user_agent_names_browser_and_system() {
        let android = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/131.0 Mobile Safari/537.36";
        let iphone =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Safari/604.1";
        let edge = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/131.0 Safari/537.36 Edg/131.0";
        for (agent, name) in [
            (android, "Chrome · Android"),
            (iphone, "Safari · iPhone"),
            (edge, "Edge · Windows"),
            ("curl/8", "Device"),
            ("", "Device"),
        ] {
            assert_eq!(name_from_user_agent(agent), name);
        }
    }
}
