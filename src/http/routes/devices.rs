//! Devices of the house: pairing one, naming it, letting it in no more.

use std::net::IpAddr;

use actix_web::HttpRequest;
use actix_web::http::header;
use qrcode::{Color, EcLevel, QrCode};

use super::Program;
use crate::clock::Time;
use crate::devices::{Claiming, LIVES_MS, MOST, Offer, addresses, secret};
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::{self, Caller, Via, cookie};
use crate::http::error::{ApiError, Code};
use crate::http::query::Vid;
use crate::http::wire::List;
use crate::http::wire::devices::{ClaimedCode, Device, DeviceChange, Link, NewPairing, Pairing, name_of};
use crate::ids::DeviceId;
use crate::store;

/// All of them, oldest first.
///
/// # Errors
/// None of its own.
pub async fn list(app: Program, _: Caller, via: Via) -> Answer<List<Device>> {
    let all = app.devices.all().into_iter().map(|device| Device::new(device, via.device()));
    Reply::ok(&List(all.collect()))
}

/// A code for one device, good for five minutes.
///
/// # Errors
/// The server does not serve the house, or has as many devices as it can.
pub async fn pair(app: Program, request: HttpRequest, _: Caller, _: Body<NewPairing>) -> Answer<Pairing> {
    let devices = &app.devices;
    if !devices.serves_house() {
        let error = ApiError::new(Code::Forbidden, "this server serves its own machine only").detail("lan", false);
        return Err(error.hint("stop it and start it with: clotho serve --lan"));
    }
    if devices.is_full() {
        let error = ApiError::new(Code::Conflict, format!("{MOST} devices are paired already"));
        return Err(error.hint("remove one that you do not use any more"));
    }
    let now = app.clock.now();
    let Offer { code, short } = devices.offer(now).map_err(ApiError::internal)?;
    let own = devices.addresses.to_show().into_iter().map(|address| match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    });
    let names = own.chain(addresses::local_name());
    let own = names.map(|name| format!("http://{name}:{}", devices.port()));
    let mut bases: Vec<String> = own.collect();
    if let Some(asked) = caller::asked_from(request.headers()) {
        // By this one somebody has come in already.
        bases.retain(|base| *base != asked);
        bases.insert(0, asked);
    }
    let links = bases.iter().map(|base| link(&format!("{base}/pair#{code}")));
    Reply::ok_in_short(Pairing {
        links: links.collect::<Result<_, _>>()?,
        code,
        short_code: short,
        expires_at: Time(now.0.saturating_add(LIVES_MS)).to_string(),
        expires_in_s: LIVES_MS / 1_000,
    })
}

fn link(address: &str) -> Result<Link, ApiError> {
    let code = QrCode::with_error_correction_level(address, EcLevel::M).map_err(ApiError::internal)?;
    let squares = code.to_colors();
    let letter = |square: &Color| if *square == Color::Dark { '1' } else { '0' };
    let modules = squares.chunks(code.width().max(1)).map(|row| row.iter().map(letter).collect()).collect();
    Ok(Link { address: address.to_owned(), modules })
}

/// Pairs the device that asks.
///
/// # Errors
/// The code is wrong, old or used, which is one and the same; or somebody tries too often.
pub async fn claim(app: Program, request: HttpRequest, body: Body<ClaimedCode>) -> Answer<Device> {
    let now = app.clock.now();
    let peer = request.peer_addr().map(|peer| peer.ip().to_canonical());
    match app.devices.claim(body.0.read(), peer, now) {
        Claiming::Later(wait_s) => {
            let mut error = ApiError::new(Code::RateLimited, "too many codes were tried from this address");
            error.retry_after_s = Some(wait_s);
            return Err(error);
        }
        Claiming::Good if !app.devices.is_full() => {}
        Claiming::Good | Claiming::Wrong => {
            let error = ApiError::new(Code::Forbidden, "this code is not good, or not any more").detail("code", false);
            return Err(error.hint("make a new one on the server's machine: each works once, for five minutes"));
        }
    }
    let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let (shown, kept) = secret().map_err(ApiError::internal)?;
    let id = DeviceId::new(app.ids.next(now));
    let device = store::Device { id, name: name_of(agent), secret: kept, created: now, seen: now };
    let (owner, new) = (app.owner, device.clone());
    app.store.write(move |tx| tx.put_device(owner, &new)).await?;
    app.devices.add(device.clone());
    tracing::info!(device = %id, name = device.name, "a device was paired");
    Ok(Reply::created(&Device::new(device, Some(id)))?.cookie(Some(cookie(&app, &shown))))
}

/// Names one.
///
/// # Errors
/// It is not there, or the name does not fit.
pub async fn rename(app: Program, caller: Caller, via: Via, id: Vid, body: Body<DeviceChange>) -> Answer<Device> {
    let name = body.0.read()?;
    let new = name.clone();
    app.store.write(move |tx| tx.name_device(caller.0, id.0, &new)).await?;
    app.devices.rename(id.0, &name);
    let found = app.devices.all().into_iter().find(|device| device.id == id.0);
    let device = found.ok_or_else(|| ApiError::not_found(Vid::WHAT))?;
    Reply::ok(&Device::new(device, via.device()))
}

/// Lets one in no more, from this moment on: its next request is refused, and its sockets close.
///
/// # Errors
/// It is not there.
pub async fn revoke(app: Program, caller: Caller, id: Vid) -> Answer<Nothing> {
    app.store.write(move |tx| tx.drop_device(caller.0, id.0)).await?;
    app.devices.revoke(id.0);
    tracing::info!(device = %id.0, "a device was removed");
    Ok(Reply::done())
}
