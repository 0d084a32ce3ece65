//! Avatars of characters and personas.

use actix_web::web;
use uuid::Uuid;

use super::AppData;
use super::{characters, personas};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::file::ImageResponse;
use crate::http::query::{CharacterIdPath, PersonaIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::upload_form::UploadForm;
use crate::http::wire::cards::{AvatarQuery, AvatarSize, CharacterResponse, PersonaResponse};
use clotho_compat::interop::picture::{self, PictureError};
use clotho_engine::transfer;
use clotho_store::{CardFile, Tx};

/// Returns the avatar of a character, in full or scaled down.
///
/// # Errors
/// Returns an error if there is none.
pub async fn read_character(
    app: AppData,
    caller: Caller,
    cid: CharacterIdPath,
    query: QueryParams<AvatarQuery>,
) -> Result<ImageResponse, ApiError> {
    characters::load(&app, caller, cid).await?;
    read_avatar(&app, caller, cid.0.uuid(), query.0).await
}

/// Returns the avatar of a persona, in full or scaled down.
///
/// # Errors
/// Returns an error if there is none.
pub async fn read_persona(
    app: AppData,
    caller: Caller,
    pid: PersonaIdPath,
    query: QueryParams<AvatarQuery>,
) -> Result<ImageResponse, ApiError> {
    personas::load(&app, caller, pid).await?;
    read_avatar(&app, caller, pid.0.uuid(), query.0).await
}

async fn read_avatar(app: &AppData, caller: Caller, id: Uuid, query: AvatarQuery) -> Result<ImageResponse, ApiError> {
    let name = if query.size.is_some() { CardFile::THUMBNAIL } else { CardFile::PICTURE };
    let file = app.store.read::<_, ApiError, _>(move |reader| Ok(reader.card_file(caller.0, id, name)?)).await?;
    let mut bytes = file.ok_or_else(|| ApiError::not_found("the picture"))?.bytes;
    if query.size == Some(AvatarSize::Row) {
        // Scaled from the stored small copy each time: that takes a millisecond, and browsers cache the result
        // permanently.
        bytes = web::block(move || picture::list_thumbnail(&bytes)).await.map_err(ApiError::internal)??;
    }
    ImageResponse::new(bytes, query.v.is_some()).ok_or_else(|| ApiError::not_found("the picture"))
}

/// Sets the avatar of a character.
///
/// # Errors
/// Returns an error if the character does not exist or the upload is no image.
pub async fn set_character(
    app: AppData,
    caller: Caller,
    cid: CharacterIdPath,
    form: UploadForm,
) -> ApiResult<CharacterResponse> {
    characters::load(&app, caller, cid).await?;
    let pictures = read_upload(&app, form).await?;
    let mut character = characters::load(&app, caller, cid).await?;
    let [whole, _] = &pictures;
    let address = transfer::picture_url("characters", cid.0, &whole.bytes);
    character.card.insert("avatar".to_owned(), address.into());
    character.updated = app.clock.now();
    let stored = character.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.update_character(caller.0, &stored)?;
        pictures.iter().try_for_each(|file| tx.put_card_file(cid.0.uuid(), file))
    };
    app.store.write(write).await?;
    ApiResponse::ok(&characters::response(&app, caller, character).await?)
}

/// Sets the avatar of a persona.
///
/// # Errors
/// Returns an error if the persona does not exist or the upload is no image.
pub async fn set_persona(
    app: AppData,
    caller: Caller,
    pid: PersonaIdPath,
    form: UploadForm,
) -> ApiResult<PersonaResponse> {
    personas::load(&app, caller, pid).await?;
    let pictures = read_upload(&app, form).await?;
    let mut persona = personas::load(&app, caller, pid).await?;
    let [whole, _] = &pictures;
    persona.card.insert("avatar".to_owned(), transfer::picture_url("personas", pid.0, &whole.bytes).into());
    persona.updated = app.clock.now();
    let stored = persona.clone();
    let write = move |tx: &mut Tx<'_>| {
        tx.update_persona(caller.0, &stored)?;
        pictures.iter().try_for_each(|file| tx.put_card_file(pid.0.uuid(), file))
    };
    app.store.write(write).await?;
    ApiResponse::ok(&PersonaResponse::from(persona))
}

/// Reads the uploaded image and makes a small copy. Only a few run in parallel, because decoding takes memory.
async fn read_upload(app: &AppData, form: UploadForm) -> Result<[CardFile; 2], ApiError> {
    let sent = form.file(picture::MAX_BYTES).await?;
    let _place = app.card_import_slots.acquire().await.map_err(ApiError::internal)?;
    Ok(web::block(move || transfer::picture_files(sent.bytes)).await.map_err(ApiError::internal)??)
}

impl From<PictureError> for ApiError {
    fn from(error: PictureError) -> Self {
        let message = error.to_string();
        match error {
            PictureError::Unknown => Self::new(ApiErrorCode::UnsupportedMedia, message)
                .hint("send a PNG, JPEG, WebP or GIF; SVG is not supported, because it can contain scripts"),
            PictureError::TooLong | PictureError::TooLarge(..) => {
                Self::new(ApiErrorCode::TooLarge, message).hint("make the image smaller and send it again")
            }
            PictureError::Broken(_) => Self::invalid("file", message).hint("the file is damaged: save it again"),
        }
    }
}
