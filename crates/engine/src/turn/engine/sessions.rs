//! Sessions and their state.

use std::sync::Arc;

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::world::StateOperation;
use clotho_store::ExpectedVersion;

use crate::turn::error::TurnError;
use crate::turn::requests::{PluginChoice, SessionSpec, TurnReceipt};
use crate::turn::services::TurnServices;
use crate::turn::start;
use crate::turn::start::change::PluginsUpdate;

/// Starts sessions, and changes their state and their plugins.
#[derive(Clone)]
pub struct SessionTurns {
    pub(super) services: Arc<TurnServices>,
}

impl SessionTurns {
    /// Creates a session: the root with its rules, the greetings, and HEAD on the first greeting.
    ///
    /// # Errors
    /// Returns an error if a character, persona, model or plugin does not exist, or the database fails.
    pub async fn begin(&self, caller: UserId, new: SessionSpec) -> Result<SessionId, TurnError> {
        let parts = Arc::clone(&self.services);
        self.services.work.run_once(async move { start::new_session::begin_session(&parts, caller, new).await }).await
    }

    /// Changes the world manually: writes a change node below `node`.
    ///
    /// # Errors
    /// Returns an error if the operations do not fit, or as [`TurnError`] says.
    pub async fn change_world(
        &self,
        caller: UserId,
        session: SessionId,
        node: NodeId,
        operations: Vec<StateOperation>,
        expected_leaf: Option<ExpectedVersion>,
    ) -> Result<TurnReceipt, TurnError> {
        let parts = Arc::clone(&self.services);
        self.services
            .work
            .run_once(async move {
                start::change::change_world(
                    &parts.storage,
                    &parts.rules,
                    caller,
                    session,
                    node,
                    operations,
                    expected_leaf,
                )
                .await
            })
            .await
    }

    /// Sets the plugins of a session. They apply from HEAD on; a change node records them.
    ///
    /// # Errors
    /// Returns an error if a plugin does not exist or its settings are invalid; nothing was written then.
    pub async fn set_plugins(
        &self,
        caller: UserId,
        session: SessionId,
        plugins: Vec<PluginChoice>,
    ) -> Result<PluginsUpdate, TurnError> {
        let parts = Arc::clone(&self.services);
        self.services
            .work
            .run_detached(async move { start::change::set_plugins(&parts, caller, session, plugins).await })
            .await
    }
}
