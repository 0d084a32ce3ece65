//! How much of each of the caller's drafts a WebSocket has sent. A socket that connects during a draft gets all of its
//! text.

use std::collections::HashMap;

use super::reply_stream::StreamTextPosition;
use crate::http::wire::drafts::DraftErrorResponse;
use crate::http::wire::events::{DraftChunkEvent, Event};
use crate::http::wire::ids::WireId;
use clotho_core::ids::{DraftId, SessionId, UserId};
use clotho_engine::live::{GenerationPhase, LiveSessions};

/// The drafts of one user in one session, with the progress of one socket.
#[derive(Debug)]
pub struct DraftStreams {
    session: SessionId,
    user: UserId,
    sent: HashMap<DraftId, DraftStreamProgress>,
}

#[derive(Debug, Clone, Copy, Default)]
struct DraftStreamProgress {
    content: StreamTextPosition,
    phase: GenerationPhase,
    /// How often the sent text had been taken back.
    rewrites: u32,
    is_over: bool,
}

impl DraftStreams {
    /// Starts with all drafts that have not ended.
    pub fn new(live: &LiveSessions, session: SessionId, user: UserId) -> Self {
        let ended = live.drafts(user, session).into_iter().filter(|draft| draft.is_over());
        let sent = ended
            .map(|draft| (draft.generation.id, DraftStreamProgress { is_over: true, ..DraftStreamProgress::default() }))
            .collect();
        Self { session, user, sent }
    }

    /// Returns what is new since the last call.
    pub fn take_events(&mut self, live: &LiveSessions) -> Vec<Event> {
        let mut events = Vec::new();
        let drafts = live.drafts(self.user, self.session);
        self.sent.retain(|id, _| drafts.iter().any(|draft| draft.generation.id == *id));
        for draft in drafts {
            let sent = self.sent.entry(draft.generation.id).or_default();
            if sent.is_over {
                continue;
            }
            // Read the phase before the text: a finished draft then has all of its text.
            let (phase, is_over) = (draft.phase(), draft.is_over());
            let (chunk, after, rewrites) = draft.generation.with_partial_text(|written| {
                if written.rewrites() != sent.rewrites {
                    sent.content = StreamTextPosition::default();
                }
                let (rest, after) = sent.content.rest_of(&written.content);
                (rest.to_owned(), after, written.rewrites())
            });
            let is_whole = (rewrites != sent.rewrites).then_some(true);
            if chunk.is_empty() && phase == sent.phase && is_whole.is_none() {
                continue;
            }
            events.push(Event::Draft(DraftChunkEvent {
                id: WireId(draft.generation.id),
                content_chunk: chunk,
                offset: sent.content.utf16_units(),
                is_whole,
                status: phase.word,
                queue_position: phase.place,
                error: draft.failure().map(DraftErrorResponse::from),
            }));
            *sent = DraftStreamProgress { content: after, phase, rewrites, is_over };
        }
        events
    }
}
