//! Pictures that cards name and other servers have. They are shown for a card once somebody has said so, and then fetched by
//! the server, drawn anew and kept with the card: no reader's browser ever asks another server.

use actix_web::web;

use super::Program;
use super::characters;
use crate::http::answer::{Answer, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::file::Picture;
use crate::http::query::{Cid, Query};
use crate::http::wire::outside::{Outside, OutsideQuery};
use crate::interop::picture;
use crate::outside::Unfetched;
use crate::store::{CardFile, Reader};

/// Whether they are shown for a character.
///
/// # Errors
/// It is not there.
pub async fn read(app: Program, caller: Caller, cid: Cid) -> Answer<Outside> {
    Reply::ok(&Outside { allowed: allowed(&app, caller, cid).await? })
}

/// Says whether they are.
///
/// # Errors
/// It is not there.
pub async fn put(app: Program, caller: Caller, cid: Cid, body: Body<Outside>) -> Answer<Outside> {
    characters::load(&app, caller, cid).await?;
    let outside = body.0;
    app.store.write(move |tx| tx.show_outside(cid.0, outside.allowed)).await?;
    Reply::ok(&outside)
}

/// One of them: as it is kept, else as it comes.
///
/// # Errors
/// Nobody has said that they are shown, it leads inside, or no picture came.
pub async fn picture(app: Program, caller: Caller, cid: Cid, query: Query<OutsideQuery>) -> Result<Picture, ApiError> {
    if allowed(&app, caller, cid).await? != Some(true) {
        let refusal = ApiError::new(Code::Forbidden, "pictures of other servers are not shown for this card");
        return Err(refusal.hint("say that they are first: PUT …/outside {\"allowed\": true}"));
    }
    let name = CardFile::outside(&query.0.url);
    let wanted = name.clone();
    let read = move |reader: &mut Reader<'_>| reader.card_file(caller.0, cid.0.uuid(), &wanted);
    let kept = app.store.read::<_, ApiError, _>(move |reader| Ok(read(reader)?)).await?;
    let bytes = match kept {
        Some(file) => file.bytes,
        None => fetched(&app, cid, name, &query.0.url).await?,
    };
    Picture::of(bytes, false).ok_or_else(|| ApiError::internal("a picture that was drawn is none"))
}

async fn allowed(app: &Program, caller: Caller, cid: Cid) -> Result<Option<bool>, ApiError> {
    let found = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.shows_outside(caller.0, cid.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(Cid::WHAT))
}

/// Asks for it, draws it anew and keeps it.
async fn fetched(app: &Program, cid: Cid, name: String, address: &str) -> Result<Vec<u8>, ApiError> {
    let bytes = app.outside.bytes(address, picture::LARGEST).await?;
    let place = app.drawing.acquire().await.map_err(ApiError::internal)?;
    let drawn = web::block(move || picture::shown(&bytes)).await.map_err(ApiError::internal)?;
    drop(place);
    let bytes = drawn.map_err(|error| {
        ApiError::new(Code::UnsupportedMedia, error.to_string()).hint("what lies at this address is not shown")
    })?;
    let file = CardFile { name, kind: "outside".to_owned(), bytes: bytes.clone() };
    app.store.write(move |tx| tx.put_outside(cid.0.uuid(), &file)).await?;
    Ok(bytes)
}

impl From<Unfetched> for ApiError {
    fn from(error: Unfetched) -> Self {
        let message = error.to_string();
        match error {
            Unfetched::NoAddress(_) => {
                Self::invalid("url", message).hint("give a whole address such as https://example.org/a.png")
            }
            Unfetched::Inside(_) => Self::new(Code::Forbidden, message).hint(
                "whoever runs the server can name hosts of the house: allowed_hosts in [pictures] of the configuration",
            ),
            Unfetched::Unreachable { .. } | Unfetched::Status { .. } => {
                Self::new(Code::ProviderFailed, message).hint("try again later, or do without this picture")
            }
            Unfetched::Late(_) => {
                Self::new(Code::ProviderTimeout, message).hint("try again later, or do without this picture")
            }
            Unfetched::TooLarge(_) => Self::new(Code::TooLarge, message).hint("it is not shown"),
        }
    }
}
