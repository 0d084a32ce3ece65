//! Who is calling.

use actix_web::HttpRequest;

use super::Program;
use crate::http::answer::{Answer, Reply};
use crate::http::caller::{self, Caller, Via};
use crate::http::error::{ApiError, Code};
use crate::http::wire::host::{Me, User};
use crate::http::wire::ids::Id;

/// The caller, and the token that a browser's writes carry. The cookie of a device begins its year anew.
///
/// # Errors
/// The user is gone.
pub async fn me(app: Program, caller: Caller, via: Via, request: HttpRequest) -> Answer<Me> {
    let users = app.store.read::<_, ApiError, _>(|reader| Ok(reader.users()?)).await?;
    let user = users.into_iter().find(|user| user.id == caller.0);
    let user = user.ok_or_else(|| ApiError::new(Code::Unauthenticated, "nobody is logged in"))?;
    let user = User { id: Id(user.id), name: user.name, role: user.role };
    let device = via.device();
    let me = Me {
        user,
        mode: "local",
        csrf: via.token(&app),
        may_rearrange: app.config.tree.edits,
        serves_house: app.devices.serves_house(),
        device_id: device.map(Id),
    };
    let secret = device.and_then(|_| caller::secret(&app, request.headers()));
    Ok(Reply::ok(&me)?.cookie(secret.map(|secret| caller::cookie(&app, &secret))))
}
