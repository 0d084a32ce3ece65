//! Cards of other programs in and out.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;

use super::Program;
use super::characters::load;
use crate::http::answer::{Answer, File, FileHead, Pieces, Reply};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::form::Form;
use crate::http::query::{Cid, Query};
use crate::http::wire::cards::{CardFormat, Character, ExportQuery, ImportedCharacter};
use crate::ids::CharacterId;
use crate::interop::card::{self, LARGEST_FILE};
use crate::store::{Claim, Tx};
use crate::transfer::{self, NotKept, Report};

/// Makes a character of a card of another program.
///
/// # Errors
/// The file is no card, or more than a card may be.
pub async fn import(app: Program, caller: Caller, form: Form) -> Answer<ImportedCharacter> {
    if let Some(made) = Claim::made_before() {
        let character = Character::from(load(&app, caller, Cid(made)).await?);
        return Reply::created(&ImportedCharacter { character, report: Report::default().into() });
    }
    let sent = form.file(LARGEST_FILE).await?;
    let _place = app.drawing.acquire().await.map_err(ApiError::internal)?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let id = CharacterId::new(ids.next(now));
    let read = move || transfer::arriving(&sent.bytes, sent.name.as_deref(), id, &ids, now);
    let arriving = web::block(read).await.map_err(ApiError::internal)??;
    let (character, report) = (arriving.character.clone(), Report { items: arriving.items.clone() });
    let claim = Claim::present();
    let write = move |tx: &mut Tx<'_>| {
        arriving.keep(tx, caller.0)?;
        tx.act_for(claim.as_ref(), &arriving.character.id)
    };
    app.store.write(write).await?;
    Reply::created(&ImportedCharacter { character: character.into(), report: report.into() })
}

impl From<NotKept> for ApiError {
    fn from(error: NotKept) -> Self {
        match error {
            NotKept::NoCard(error) => Self::invalid("file", error.to_string()).hint(error.hint()),
            NotKept::Unfit(unfit) => {
                Self::from(unfit).hint("make the card smaller where it comes from; nothing of it was kept")
            }
        }
    }
}

/// A character as a card that other programs read.
///
/// # Errors
/// It is not there.
pub async fn export(app: Program, caller: Caller, cid: Cid, query: Query<ExportQuery>) -> Answer<File> {
    let format = query.0.format;
    let character = load(&app, caller, cid).await?;
    let id = cid.0.uuid();
    let lorebook = transfer::lorebook_of(&character);
    let read = app.store.read::<_, ApiError, _>(move |reader| {
        let book = lorebook.map_or(Ok(None), |id| reader.lorebook(caller.0, id))?;
        Ok((reader.card_files(caller.0, id)?, book))
    });
    let (files, book) = read.await?;
    let _place = app.drawing.acquire().await.map_err(ApiError::internal)?;
    let name = character.card.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
    let written = move || {
        let sheet = transfer::sheet(&character, &files, book.as_ref());
        match format {
            CardFormat::Png => Ok(card::png(&sheet)),
            CardFormat::Json => serde_json::to_vec_pretty(&card::json(&sheet)).map_err(ApiError::internal),
            CardFormat::Charx => card::charx(&sheet).map_err(ApiError::internal),
        }
    };
    let bytes = web::block(written).await.map_err(ApiError::internal)??;
    let pieces: Pieces = Box::pin(stream::iter([Ok(Bytes::from(bytes))]));
    Ok(Reply::file(FileHead::called(&name, format.ending(), format.media_type()), pieces))
}
