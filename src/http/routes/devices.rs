//! Paired devices: pairing, renaming and revoking.

use std::net::IpAddr;

use actix_web::HttpRequest;
use actix_web::http::header;
use qrcode::{Color, EcLevel, QrCode};

use super::AppData;
use crate::devices::{ClaimResult, LIFETIME_MS, MAX_DEVICES, PairingOffer, addresses, new_secret};
use crate::http::body::JsonBody;
use crate::http::caller::{self, Caller, ClientIdentity, device_cookie};
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::DeviceIdPath;
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use crate::http::wire::ListResponse;
use crate::http::wire::devices::{
    ClaimDeviceRequest, DeviceResponse, PairingLink, PairingRequest, PairingResponse, UpdateDeviceRequest,
    name_from_user_agent,
};
use clotho_core::clock::Time;
use clotho_core::ids::DeviceId;
use clotho_store as store;

/// Lists all devices, oldest first.
///
/// # Errors
/// Returns no error of its own.
pub async fn list(app: AppData, _: Caller, via: ClientIdentity) -> ApiResult<ListResponse<DeviceResponse>> {
    let all = app.devices.all().into_iter().map(|device| DeviceResponse::new(device, via.device()));
    ApiResponse::ok(&ListResponse(all.collect()))
}

/// Creates a pairing code for one device, valid for five minutes.
///
/// # Errors
/// Returns an error if the server does not accept LAN devices or has the maximum number of devices.
pub async fn pair(
    app: AppData,
    request: HttpRequest,
    _: Caller,
    _: JsonBody<PairingRequest>,
) -> ApiResult<PairingResponse> {
    let devices = &app.devices;
    if !devices.serves_lan() {
        let error =
            ApiError::new(ApiErrorCode::Forbidden, "this server only serves its own machine").detail("lan", false);
        return Err(error.hint("stop it and start it with: clotho serve --lan"));
    }
    if devices.is_full() {
        let error = ApiError::new(ApiErrorCode::Conflict, format!("{MAX_DEVICES} devices are already paired"));
        return Err(error.hint("remove a device that you do not use any more"));
    }
    let now = app.clock.now();
    let PairingOffer { code, short } = devices.offer_pairing(now).map_err(ApiError::internal)?;
    let own = devices.addresses.shareable().into_iter().map(|address| match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    });
    let names = own.chain(addresses::mdns_name());
    let own = names.map(|name| format!("http://{name}:{}", devices.port()));
    let mut bases: Vec<String> = own.collect();
    if let Some(asked) = caller::lan_origin(request.headers()) {
        // The URL of the calling page works, so it comes first.
        bases.retain(|base| *base != asked);
        bases.insert(0, asked);
    }
    let links = bases.iter().map(|base| pairing_link(&format!("{base}/pair#{code}")));
    ApiResponse::ok_redacted(PairingResponse {
        links: links.collect::<Result<_, _>>()?,
        code,
        short_code: short,
        expires_at: Time(now.0.saturating_add(LIFETIME_MS)).to_string(),
        expires_in_s: LIFETIME_MS / 1_000,
    })
}

fn pairing_link(address: &str) -> Result<PairingLink, ApiError> {
    let code = QrCode::with_error_correction_level(address, EcLevel::M).map_err(ApiError::internal)?;
    let squares = code.to_colors();
    let letter = |square: &Color| if *square == Color::Dark { '1' } else { '0' };
    let modules = squares.chunks(code.width().max(1)).map(|row| row.iter().map(letter).collect()).collect();
    Ok(PairingLink { address: address.to_owned(), modules })
}

/// Pairs the calling device.
///
/// # Errors
/// Returns the same error if the code is wrong, expired or used; another one after too many wrong codes.
pub async fn claim(
    app: AppData,
    request: HttpRequest,
    body: JsonBody<ClaimDeviceRequest>,
) -> ApiResult<DeviceResponse> {
    let now = app.clock.now();
    let client = caller::client_address(&app, &request);
    match app.devices.claim_pairing(body.0.read(), client, now) {
        ClaimResult::RateLimited(wait_s) => {
            let mut error =
                ApiError::new(ApiErrorCode::RateLimited, "there were too many wrong codes from this address");
            error.retry_after_s = Some(wait_s);
            return Err(error);
        }
        ClaimResult::Accepted if !app.devices.is_full() => {}
        ClaimResult::Accepted | ClaimResult::Invalid => {
            let error =
                ApiError::new(ApiErrorCode::Forbidden, "this code is wrong or has expired").detail("code", false);
            return Err(error.hint("create a new code on the server's machine: each works once, for five minutes"));
        }
    }
    let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let (shown, hash) = new_secret().map_err(ApiError::internal)?;
    let id = DeviceId::new(app.ids.next_id(now));
    let device =
        store::PairedDevice { id, name: name_from_user_agent(agent), secret: hash, created: now, last_seen: now };
    let (owner, new) = (app.owner, device.clone());
    app.store.write(move |tx| tx.put_device(owner, &new)).await?;
    app.devices.add(device.clone());
    tracing::info!(device = %id, name = device.name, "a device was paired");
    Ok(ApiResponse::created(&DeviceResponse::new(device, Some(id)))?.with_cookie(Some(device_cookie(
        &app,
        request.headers(),
        &shown,
    ))))
}

/// Renames a device.
///
/// # Errors
/// Returns an error if it does not exist or the name is invalid.
pub async fn rename(
    app: AppData,
    caller: Caller,
    via: ClientIdentity,
    id: DeviceIdPath,
    body: JsonBody<UpdateDeviceRequest>,
) -> ApiResult<DeviceResponse> {
    let name = body.0.read()?;
    let new = name.clone();
    app.store.write(move |tx| tx.rename_device(caller.0, id.0, &new)).await?;
    app.devices.rename(id.0, &name);
    let found = app.devices.all().into_iter().find(|device| device.id == id.0);
    let device = found.ok_or_else(|| ApiError::not_found(DeviceIdPath::WHAT))?;
    ApiResponse::ok(&DeviceResponse::new(device, via.device()))
}

/// Revokes a device with immediate effect: its next request is refused, and its WebSockets are closed.
///
/// # Errors
/// Returns an error if it does not exist.
pub async fn revoke(app: AppData, caller: Caller, id: DeviceIdPath) -> ApiResult<NoContent> {
    app.store.write(move |tx| tx.delete_device(caller.0, id.0)).await?;
    app.devices.revoke(id.0);
    tracing::info!(device = %id.0, "a device was removed");
    Ok(ApiResponse::no_content())
}
