//! How much of each draft of the caller's a socket has told. Whoever comes while one is being written is told all of it.

use std::collections::HashMap;

use super::stream::Place;
use crate::http::wire::drafts::DraftError;
use crate::http::wire::events::{DraftPiece, Event};
use crate::http::wire::ids::Id;
use crate::ids::{DraftId, SessionId, UserId};
use crate::live::{Live, Phase};

/// The drafts of one user in one session, as one socket has told them.
#[derive(Debug)]
pub struct Drafts {
    session: SessionId,
    user: UserId,
    told: HashMap<DraftId, Told>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Told {
    content: Place,
    phase: Phase,
    is_over: bool,
}

impl Drafts {
    /// Those that have ended already are told no more.
    pub fn new(live: &Live, session: SessionId, user: UserId) -> Self {
        let ended = live.drafts(user, session).into_iter().filter(|draft| draft.is_over());
        let told = ended.map(|draft| (draft.writing.id, Told { is_over: true, ..Told::default() })).collect();
        Self { session, user, told }
    }

    /// What has come since the last time.
    pub fn pull(&mut self, live: &Live) -> Vec<Event> {
        let mut events = Vec::new();
        let drafts = live.drafts(self.user, self.session);
        self.told.retain(|id, _| drafts.iter().any(|draft| draft.writing.id == *id));
        for draft in drafts {
            let told = self.told.entry(draft.writing.id).or_default();
            if told.is_over {
                continue;
            }
            // The end first: what is over has all of its text.
            let (phase, is_over) = (draft.phase(), draft.is_over());
            let (chunk, after) = draft.writing.look(|written| {
                let (rest, after) = told.content.rest(&written.content);
                (rest.to_owned(), after)
            });
            if chunk.is_empty() && phase == told.phase {
                continue;
            }
            events.push(Event::Draft(DraftPiece {
                id: Id(draft.writing.id),
                content_chunk: chunk,
                offset: told.content.units(),
                status: phase.word,
                queue_position: phase.place,
                error: draft.failed().map(DraftError::from),
            }));
            *told = Told { content: after, phase, is_over };
        }
        events
    }
}
