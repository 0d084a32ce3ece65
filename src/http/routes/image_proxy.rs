//! Remote images named by cards. Once the user permits them for a card, the server fetches each image, re-encodes it
//! and stores it with the card. The browser of a reader never contacts another server.

use actix_web::web;

use super::AppData;
use super::characters;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::file::ImageResponse;
use crate::http::query::{CharacterIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::image_proxy::{RemoteImageQuery, RemoteImagesPermission};
use crate::image_proxy::ImageFetchError;
use clotho_compat::interop::picture;
use clotho_store::{CardFile, StoreReader};

/// Returns the remote-image permission of a character.
///
/// # Errors
/// Returns an error if the character does not exist.
pub async fn read_permission(app: AppData, caller: Caller, cid: CharacterIdPath) -> ApiResult<RemoteImagesPermission> {
    ApiResponse::ok(&RemoteImagesPermission { allowed: load_permission(&app, caller, cid).await? })
}

/// Sets the remote-image permission of a character.
///
/// # Errors
/// Returns an error if the character does not exist.
pub async fn set_permission(
    app: AppData,
    caller: Caller,
    cid: CharacterIdPath,
    body: JsonBody<RemoteImagesPermission>,
) -> ApiResult<RemoteImagesPermission> {
    characters::load(&app, caller, cid).await?;
    let outside = body.0;
    app.store.write(move |tx| tx.set_remote_pictures_permission(cid.0, outside.allowed)).await?;
    ApiResponse::ok(&outside)
}

/// Returns a remote image: the stored copy, otherwise it is fetched.
///
/// # Errors
/// Returns an error if remote images are not permitted, the URL leads to a private network, or no image came.
pub async fn read_image(
    app: AppData,
    caller: Caller,
    cid: CharacterIdPath,
    query: QueryParams<RemoteImageQuery>,
) -> Result<ImageResponse, ApiError> {
    if load_permission(&app, caller, cid).await? != Some(true) {
        let refusal = ApiError::new(ApiErrorCode::Forbidden, "remote images are not allowed for this card");
        return Err(refusal.hint("allow them first: PUT …/outside {\"allowed\": true}"));
    }
    let name = CardFile::remote_picture_name(&query.0.url);
    let wanted = name.clone();
    let read = move |reader: &mut StoreReader<'_>| reader.card_file(caller.0, cid.0.uuid(), &wanted);
    let stored = app.store.read::<_, ApiError, _>(move |reader| Ok(read(reader)?)).await?;
    let bytes = match stored {
        Some(file) => file.bytes,
        None => fetch_image(&app, cid, name, &query.0.url).await?,
    };
    ImageResponse::new(bytes, false).ok_or_else(|| ApiError::internal("drawn images are not supported"))
}

async fn load_permission(app: &AppData, caller: Caller, cid: CharacterIdPath) -> Result<Option<bool>, ApiError> {
    let found =
        app.store.read::<_, ApiError, _>(move |reader| Ok(reader.remote_pictures_permission(caller.0, cid.0)?)).await?;
    found.ok_or_else(|| ApiError::not_found(CharacterIdPath::WHAT))
}

/// Fetches, re-encodes and stores an image.
async fn fetch_image(app: &AppData, cid: CharacterIdPath, name: String, address: &str) -> Result<Vec<u8>, ApiError> {
    let bytes = app.image_proxy.fetch(address, picture::MAX_BYTES).await?;
    let place = app.card_import_slots.acquire().await.map_err(ApiError::internal)?;
    let drawn = web::block(move || picture::message_image(&bytes)).await.map_err(ApiError::internal)?;
    drop(place);
    let bytes = drawn.map_err(|error| {
        ApiError::new(ApiErrorCode::UnsupportedMedia, error.to_string()).hint("this address cannot be shown")
    })?;
    let file = CardFile { name, kind: "outside".to_owned(), bytes: bytes.clone() };
    app.store.write(move |tx| tx.put_remote_picture(cid.0.uuid(), &file)).await?;
    Ok(bytes)
}

impl From<ImageFetchError> for ApiError {
    fn from(error: ImageFetchError) -> Self {
        let message = error.to_string();
        match error {
            ImageFetchError::InvalidUrl(_) => {
                Self::invalid("url", message).hint("send a complete address such as https://example.org/a.png")
            }
            ImageFetchError::PrivateAddress(_) => Self::new(ApiErrorCode::Forbidden, message).hint(
                "the owner of the server can allow local hosts: allowed_hosts in [pictures] of the configuration",
            ),
            ImageFetchError::Unreachable { .. } | ImageFetchError::Status { .. } => {
                Self::new(ApiErrorCode::ProviderFailed, message).hint("try again later, or continue without this image")
            }
            ImageFetchError::Timeout(_) => Self::new(ApiErrorCode::ProviderTimeout, message)
                .hint("try again later, or continue without this image"),
            ImageFetchError::TooLarge(_) => Self::new(ApiErrorCode::TooLarge, message).hint("it is not shown"),
        }
    }
}
