//! Single links of lorebooks: to all sessions, a session, a persona or a character. `routes/lorebooks.rs` has the whole
//! set of a lorebook's links.

use super::AppData;
use crate::http::caller::Caller;
use crate::http::query::{CharacterIdPath, LorebookIdPath, PersonaIdPath, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, NoContent};
use clotho_store::BindingTarget;

/// The end of a path that names what a lorebook is linked to. `()` names nothing: all sessions.
pub trait BindingTargetPath {
    /// Returns what the path names.
    fn target(&self) -> BindingTarget;
}

impl BindingTargetPath for () {
    fn target(&self) -> BindingTarget {
        BindingTarget::Everything
    }
}

impl BindingTargetPath for SessionIdPath {
    fn target(&self) -> BindingTarget {
        BindingTarget::Session(self.0)
    }
}

impl BindingTargetPath for PersonaIdPath {
    fn target(&self) -> BindingTarget {
        BindingTarget::Persona(self.0)
    }
}

impl BindingTargetPath for CharacterIdPath {
    fn target(&self) -> BindingTarget {
        BindingTarget::Character(self.0)
    }
}

/// Links a lorebook.
///
/// # Errors
/// Returns an error if the lorebook or the target does not exist.
pub async fn link<T: BindingTargetPath>(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    path: T,
) -> ApiResult<NoContent> {
    let target = path.target();
    app.store.write(move |tx| tx.add_lorebook_binding(caller.0, id.0, target)).await?;
    Ok(ApiResponse::no_content())
}

/// Removes a link of a lorebook; its other links stay. The card of a character stops naming the lorebook.
///
/// # Errors
/// Returns an error if the lorebook or the target does not exist.
pub async fn unlink<T: BindingTargetPath>(
    app: AppData,
    caller: Caller,
    id: LorebookIdPath,
    path: T,
) -> ApiResult<NoContent> {
    let (target, now) = (path.target(), app.clock.now());
    app.store.write(move |tx| tx.remove_lorebook_binding(caller.0, id.0, target, now)).await?;
    Ok(ApiResponse::no_content())
}
