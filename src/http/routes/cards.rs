//! Import and export of character cards.

use actix_web::web;
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;

use super::AppData;
use super::avatar_files::delete_replaced;
use super::characters::{load, response};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{CharacterIdPath, QueryParams};
use crate::http::response::{ApiResponse, ApiResult, FileResponse, FileResponseHead, ResponseChunks};
use crate::http::upload_form::UploadForm;
use crate::http::wire::cards::{CardExportQuery, CardFormatParam, CharacterImportResponse};
use crate::http::wire::script_consent::CardImportQuery;
use clotho_compat::interop::card::{self, MAX_FILE_BYTES};
use clotho_core::ids::CharacterId;
use clotho_engine::transfer::{self, CardRejection, ForeignImportReport};
use clotho_store::{CharacterCard, IdempotencyClaim, Tx};

/// Imports a character card, as a new character or over one.
///
/// # Errors
/// Returns an error if the file is no card or too large, or if the character that it replaces does not exist.
pub async fn import(
    app: AppData,
    caller: Caller,
    query: QueryParams<CardImportQuery>,
    form: UploadForm,
) -> ApiResult<CharacterImportResponse> {
    if let Some(previous) = IdempotencyClaim::previous_result() {
        let character = load(&app, caller, CharacterIdPath(previous)).await?;
        let character = response(&app, caller, character).await?;
        return ApiResponse::created(&CharacterImportResponse {
            character,
            report: ForeignImportReport::default().into(),
        });
    }
    let sent = form.file(MAX_FILE_BYTES).await?;
    let _place = app.card_import_slots.acquire().await.map_err(ApiError::internal)?;
    let (ids, now) = (app.ids.clone(), app.clock.now());
    let replaced = match query.0.character_id {
        Some(id) => Some(load_replaced(&app, caller, id.0).await?),
        None => None,
    };
    let id = replaced.as_ref().map_or_else(|| CharacterId::new(ids.next_id(now)), |present| present.id);
    let read = move || transfer::read_card(&sent.bytes, sent.name.as_deref(), id, &ids, now);
    let mut import = web::block(read).await.map_err(ApiError::internal)??;
    import.is_trusted = query.0.trust.unwrap_or(false);
    if let Some(present) = &replaced {
        import.keep_owned_fields(present);
    }
    let (character, report) = (import.character.clone(), ForeignImportReport { items: import.items.clone() });
    let claim = IdempotencyClaim::current();
    let write = move |tx: &mut Tx<'_>| {
        if replaced.is_some() {
            import.replace(tx, caller.0)?;
            let avatar = import.character.card.get("avatar").and_then(Value::as_str);
            delete_replaced(tx, "characters", import.character.id.uuid(), avatar)?;
        } else {
            import.insert(tx, caller.0)?;
        }
        tx.record_claim(claim.as_ref(), &import.character.id)
    };
    app.store.write(write).await?;
    let character = response(&app, caller, character).await?;
    ApiResponse::created(&CharacterImportResponse { character, report: report.into() })
}

/// Loads the character whose card an import replaces.
async fn load_replaced(app: &AppData, caller: Caller, id: CharacterId) -> Result<CharacterCard, ApiError> {
    load(app, caller, CharacterIdPath(id)).await.map_err(|error| error.detail("field", "characterId"))
}

impl From<CardRejection> for ApiError {
    fn from(error: CardRejection) -> Self {
        match error {
            CardRejection::NoCard(error) => Self::invalid("file", error.to_string()).hint(error.hint()),
            CardRejection::Unfit(unfit) => Self::from(unfit)
                .hint("make the card smaller in the program that it comes from; nothing of it was kept"),
        }
    }
}

/// Exports a character as a card for other programs.
///
/// # Errors
/// Returns an error if the character does not exist.
pub async fn export(
    app: AppData,
    caller: Caller,
    cid: CharacterIdPath,
    query: QueryParams<CardExportQuery>,
) -> ApiResult<FileResponse> {
    let format = query.0.format;
    let character = load(&app, caller, cid).await?;
    let id = cid.0.uuid();
    let lorebook = transfer::lorebook_of(&character);
    let read = app.store.read::<_, ApiError, _>(move |reader| {
        let book = lorebook.map_or(Ok(None), |id| reader.lorebook(caller.0, id))?;
        Ok((reader.card_files(caller.0, id)?, book))
    });
    let (files, book) = read.await?;
    let _place = app.card_import_slots.acquire().await.map_err(ApiError::internal)?;
    let name = character.card.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
    let written = move || {
        let sheet = transfer::card_sheet(&character, &files, book.as_ref());
        match format {
            CardFormatParam::Png => Ok(card::write_png(&sheet)),
            CardFormatParam::Json => serde_json::to_vec_pretty(&card::write_json(&sheet)).map_err(ApiError::internal),
            CardFormatParam::Charx => card::write_charx(&sheet).map_err(ApiError::internal),
        }
    };
    let bytes = web::block(written).await.map_err(ApiError::internal)??;
    let pieces: ResponseChunks = Box::pin(stream::iter([Ok(Bytes::from(bytes))]));
    Ok(ApiResponse::file(FileResponseHead::from_title(&name, format.file_extension(), format.media_type()), pieces))
}
