//! Sessions as lists and pages show them.

use std::collections::BTreeSet;

use clotho_core::ids::{ConnectionProfileId, NodeId, SessionId, UserId};
use clotho_core::tree::ConnectionSettings;
use clotho_store::{
    ConnectionProfile, PathFilter, SessionCardVersion, SessionFilter, SessionOrder, StoreError, StoreReader,
    StoredSession,
};

use crate::error::ReadError;
use crate::lookup::load_session;
use crate::node_view::NodeRenderer;

/// Length of the preview in the list, in characters.
const PREVIEW_CHARS: usize = 160;

/// A session with what is not stored in it.
#[derive(Debug)]
pub struct SessionView {
    pub stored: StoredSession,
    /// Number of turns to HEAD.
    pub turns: i32,
    /// Start of the newest message, as displayed; only in the list.
    pub preview: Option<String>,
    /// The nearest context node at or above HEAD; not in the list.
    pub context: Option<NodeId>,
    /// Which version of each of its cards it uses; not in the list.
    pub cards: Option<Vec<SessionCardVersion>>,
    /// The connection profile that was chosen last, if it still exists.
    pub profile: Option<SessionProfile>,
}

/// The connection profile of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionProfile {
    pub id: ConnectionProfileId,
    /// Whether the session or the profile was changed since, so that they differ.
    pub is_changed: bool,
}

/// Lists the user's sessions that fit a filter, in an order: at most `limit` after the first `skip`.
///
/// # Errors
/// Returns an error if the database fails.
pub fn list_sessions(
    reader: &mut StoreReader<'_>,
    user: UserId,
    look: &NodeRenderer,
    (filter, order): (&SessionFilter, SessionOrder),
    skip: i64,
    limit: i64,
) -> Result<Vec<SessionView>, StoreError> {
    let sessions = reader.filtered_sessions(user, filter, order, skip, limit)?;
    let turns = reader.turn_counts(&sessions)?;
    let profiles = session_profiles(reader, user, &sessions)?;
    let view = |(stored, turns): (StoredSession, i32)| {
        let preview = message_preview(reader, &stored, look)?;
        let profile = profile_of(&stored, &profiles);
        Ok(SessionView { stored, turns, preview, context: None, cards: None, profile })
    };
    sessions.into_iter().zip(turns).map(view).collect()
}

/// Returns the connection profiles that sessions have chosen and that still exist.
fn session_profiles(
    reader: &mut StoreReader<'_>,
    user: UserId,
    sessions: &[StoredSession],
) -> Result<Vec<ConnectionProfile>, StoreError> {
    let ids: BTreeSet<_> = sessions.iter().filter_map(|stored| stored.session.profile).collect();
    reader.connection_profiles_by_id(user, &ids.into_iter().collect::<Vec<_>>())
}

fn profile_of(stored: &StoredSession, profiles: &[ConnectionProfile]) -> Option<SessionProfile> {
    let id = stored.session.profile?;
    let profile = profiles.iter().find(|profile| profile.id == id)?;
    Some(SessionProfile { id, is_changed: ConnectionSettings::of_session(&stored.session) != profile.settings })
}

/// Returns the start of the newest message of a session, as displayed.
fn message_preview(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
) -> Result<Option<String>, StoreError> {
    let page = reader.page(stored, stored.session.head, None, 1, PathFilter::Enabled)?;
    Ok(page.nodes.last().map(|placed| look.preview(&placed.node, PREVIEW_CHARS)))
}

/// Returns one session.
///
/// # Errors
/// Returns an error if it does not exist or belongs to another user.
pub fn read_session(reader: &mut StoreReader<'_>, user: UserId, id: SessionId) -> Result<SessionView, ReadError> {
    let stored = load_session(reader, user, id)?;
    let (head, root) = (stored.session.head, stored.session.root);
    let context = reader.context_of(&stored, head)?.map_or(root, |placed| placed.node.id);
    let turns = reader.turn_counts(std::slice::from_ref(&stored))?.first().copied().unwrap_or(0);
    let cards = Some(reader.session_card_versions(&stored.session)?);
    let profiles = session_profiles(reader, user, std::slice::from_ref(&stored))?;
    let profile = profile_of(&stored, &profiles);
    Ok(SessionView { stored, turns, preview: None, context: Some(context), cards, profile })
}
