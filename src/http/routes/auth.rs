//! The caller.

use actix_web::HttpRequest;

use super::AppData;
use crate::http::caller::{self, Caller, ClientIdentity};
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::ids::WireId;
use crate::http::wire::server_info::{MeResponse, UserResponse};

/// Returns the caller and the CSRF token for writes of a browser, and renews the cookie of a device for a year.
///
/// # Errors
/// Returns an error if the user no longer exists.
pub async fn me(app: AppData, caller: Caller, via: ClientIdentity, request: HttpRequest) -> ApiResult<MeResponse> {
    let users = app.store.read::<_, ApiError, _>(|reader| Ok(reader.users()?)).await?;
    let user = users.into_iter().find(|user| user.id == caller.0);
    let user = user.ok_or_else(|| ApiError::new(ApiErrorCode::Unauthenticated, "nobody is logged in"))?;
    let user = UserResponse { id: WireId(user.id), name: user.name, role: user.role };
    let device = via.device();
    let me = MeResponse {
        user,
        mode: "local",
        csrf: via.csrf_token(&app),
        may_rearrange: app.config.tree.edits,
        serves_house: app.devices.serves_lan(),
        device_id: device.map(WireId),
    };
    let secret = device.and_then(|_| caller::device_secret(&app, request.headers()));
    Ok(ApiResponse::ok(&me)?.with_cookie(secret.map(|secret| caller::device_cookie(&app, request.headers(), &secret))))
}
