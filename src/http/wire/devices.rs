//! Paired devices, and how one is paired.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ids::{WireDeviceId, WireId};
use crate::http::error::ApiError;
use crate::http::response::RedactForReplay;
use clotho_core::ids::DeviceId;
use clotho_store as store;

/// Maximum length of a device name, in characters.
const MAX_NAME_LENGTH: usize = 80;
/// Maximum length of a code in bytes; a longer one is not looked up.
const MAX_CODE_LENGTH: usize = 200;

/// A paired device.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceResponse {
    /// Id of the device.
    pub id: WireDeviceId,
    /// Display name of the device.
    pub name: String,
    /// Pairing time, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last request, to the hour, ISO 8601 UTC.
    pub last_seen_at: String,
    /// Whether the caller uses this device.
    pub is_this: bool,
}

/// A request for a pairing code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PairingRequest {}

/// A pairing code for one device, with the URLs of this machine.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairingResponse {
    /// The code in the links. Empty in the replay of an idempotent request.
    pub code: String,
    /// The same as eight letters and digits to type, or sixteen after many wrong codes. Using either uses up both. Empty
    /// in the replay of an idempotent request.
    pub short_code: String,
    /// Pairing URLs, most likely first: the URL of the calling page (unless it is loopback), then those of this
    /// machine. Empty without a network, and in the replay of an idempotent request.
    pub links: Vec<PairingLink>,
    /// Expiry time of the code, ISO 8601 UTC.
    pub expires_at: String,
    /// Seconds until the code expires.
    pub expires_in_s: i64,
}

/// A URL that a device opens to be paired.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PairingLink {
    /// The URL. The code is in the fragment (after `#`), which browsers do not send and logs do not contain.
    pub address: String,
    /// The URL as a QR code: one string per row, `1` = dark, `0` = light, without the quiet zone.
    pub modules: Vec<String>,
}

/// A code that a device presents to be paired.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimDeviceRequest {
    /// The code of a link, or the short code. Case, spaces and dashes of the short code are ignored.
    pub code: String,
}

/// Changes to a device.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateDeviceRequest {
    /// New display name, 1 to 80 characters.
    pub name: String,
}

impl DeviceResponse {
    /// Builds the response; `this` is the device of the caller.
    pub fn new(device: store::PairedDevice, this: Option<DeviceId>) -> Self {
        let store::PairedDevice { id, name, created, last_seen: seen, .. } = device;
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
    /// Removes the code, so that it is never stored for a replay.
    fn redact_for_replay(self) -> Self {
        Self { code: String::new(), short_code: String::new(), links: Vec::new(), ..self }
    }
}

impl ClaimDeviceRequest {
    /// Returns the trimmed code, or an empty string if it is too long to be one.
    pub fn read(&self) -> &str {
        if self.code.len() <= MAX_CODE_LENGTH { self.code.trim() } else { "" }
    }
}

impl UpdateDeviceRequest {
    /// Returns the trimmed name.
    ///
    /// # Errors
    /// Returns an error if the name is empty, too long, or has control characters.
    pub fn read(self) -> Result<String, ApiError> {
        let name = self.name.trim();
        let length = name.chars().count();
        if !(1..=MAX_NAME_LENGTH).contains(&length) || name.chars().any(char::is_control) {
            return Err(ApiError::invalid("name", format!("expected 1 to {MAX_NAME_LENGTH} characters")));
        }
        Ok(name.to_owned())
    }
}

/// Returns the initial name of a device: browser and system, as far as the `User-Agent` tells.
pub fn name_from_user_agent(user_agent: &str) -> String {
    // Order matters: each browser's `User-Agent` also contains the names of later ones.
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
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(word, _)| user_agent.contains(word)).map(|(_, name)| *name)
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
