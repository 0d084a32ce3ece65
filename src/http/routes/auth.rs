//! Who is calling.

use super::Program;
use crate::http::answer::{Answer, Reply};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::wire::host::{Me, User};
use crate::http::wire::ids::Id;

/// The caller, and the token that a browser's writes carry.
///
/// # Errors
/// The user is gone.
pub async fn me(app: Program, caller: Caller) -> Answer<Me> {
    let users = app.store.read::<_, ApiError, _>(|reader| Ok(reader.users()?)).await?;
    let user = users.into_iter().find(|user| user.id == caller.0);
    let user = user.ok_or_else(|| ApiError::new(Code::Unauthenticated, "nobody is logged in"))?;
    let user = User { id: Id(user.id), name: user.name, role: user.role };
    Reply::ok(&Me { user, mode: "local", csrf: app.csrf.clone(), may_rearrange: app.config.tree.edits })
}
