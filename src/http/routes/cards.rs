//! Cards of other programs in and out, and the pictures of characters.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;

use super::Program;
use super::characters::load;
use crate::app::App;
use crate::http::answer::{Answer, File, FileHead, Pieces, Reply};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::file::Picture;
use crate::http::form::Form;
use crate::http::query::{Cid, Query};
use crate::http::wire::cards::{AvatarQuery, CardFormat, Character, ExportQuery, ImportedCharacter, Size};
use crate::interop::card::{self, LARGEST_FILE};
use crate::interop::picture::{self, PictureError};
use crate::store::{CardFile, Claim, Tx};
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
    let read = move || transfer::arriving(&sent.bytes, sent.name.as_deref(), &ids, now);
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

/// The picture of a character, whole or small.
///
/// # Errors
/// It has none.
pub async fn picture(app: Program, caller: Caller, cid: Cid, query: Query<AvatarQuery>) -> Result<Picture, ApiError> {
    let name = if query.0.size == Some(Size::Small) { CardFile::SMALL } else { CardFile::PICTURE };
    let id = cid.0.uuid();
    load(&app, caller, cid).await?;
    let file = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.card_file(caller.0, id, name)?)).await?;
    let picture = file.and_then(|file| Picture::of(file.bytes, query.0.v.is_some()));
    picture.ok_or_else(|| ApiError::not_found("a picture of the character"))
}

/// Gives a character another picture.
///
/// # Errors
/// It is not there, or what was sent is no picture.
pub async fn change_picture(app: Program, caller: Caller, cid: Cid, form: Form) -> Answer<Character> {
    load(&app, caller, cid).await?;
    let sent = form.file(picture::LARGEST).await?;
    let mut character = load(&app, caller, cid).await?;
    let pictures = drawn(&app, sent.bytes).await?;
    let [whole, _] = &pictures;
    character.card.insert("avatar".to_owned(), transfer::picture_address(cid.0, &whole.bytes).into());
    character.updated = app.clock.now();
    let kept = character.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.update_character(caller.0, &kept)?;
        pictures.iter().try_for_each(|file| tx.put_card_file(cid.0.uuid(), file))
    };
    app.store.write(write).await?;
    Reply::ok(&Character::from(character))
}

/// A picture and its small copy, a few at a time: each takes memory as it is drawn.
async fn drawn(app: &App, bytes: Vec<u8>) -> Result<[CardFile; 2], ApiError> {
    let _place = app.drawing.acquire().await.map_err(ApiError::internal)?;
    Ok(web::block(move || transfer::pictures(bytes)).await.map_err(ApiError::internal)??)
}

impl From<PictureError> for ApiError {
    fn from(error: PictureError) -> Self {
        let message = error.to_string();
        match error {
            PictureError::Unknown => Self::new(Code::UnsupportedMedia, message)
                .hint("send a PNG, JPEG, WebP or GIF; an SVG can carry scripts and is never taken"),
            PictureError::TooLong | PictureError::TooLarge(..) => {
                Self::new(Code::TooLarge, message).hint("make the picture smaller and send it again")
            }
            PictureError::Broken(_) => Self::invalid("file", message).hint("the file is damaged: save it anew"),
        }
    }
}
