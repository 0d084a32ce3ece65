//! The preview of a prompt (`docs/domain.md` 6.6): built like any other, from the same snapshot, and nothing is
//! written. It does not run `on_input` on the message, because that may have effects.

use std::sync::Arc;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{Kind, Role, Status};
use clotho_store::{StoreReader, StoredNode, StoredSession};

use crate::turn::cast::{self, UserPersona};
use crate::turn::prompts;
use crate::turn::prompts::deadline;
use crate::turn::prompts::macro_context::{self, GenerationTask, PromptPurpose};
use crate::turn::prompts::prompt_bounds::PromptBounds;
use crate::turn::prompts::trace::{BuiltPrompt, RebuiltPrompt};
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery, TurnSnapshot};
use crate::turn::{GenerationSpec, PreviewSpec, TurnError, draft, prompts::prompt_bounds, reply::runner, start};

/// Builds the prompt that sending would use.
pub async fn preview(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    asked: PreviewSpec,
) -> Result<RebuiltPrompt, TurnError> {
    let stored = parts.storage.store.read(move |reader| Ok::<_, TurnError>(reader.session(caller, session)?)).await?;
    let stored = stored.ok_or(TreeError::NotFound("the session"))?;
    let generate = GenerationSpec { n: 1, model: asked.model, params: asked.params, character: None };
    let choice = draft::select_model(&parts.prompts, &stored.session, &generate)?;
    let bounds =
        prompt_bounds::prompt_bounds(&parts.prompts, &choice, &start::merged_params(&stored.session, &generate));
    let now = parts.storage.clock.now();
    let (embedder, store) = (&parts.prompts.query_embedder, &parts.storage.store);
    let time_zone = macro_context::recorded_zone(asked.time_zone, &bounds.time_zone);
    let recall = embedder.prompt_query(store, now, caller, session, asked.parent, asked.content.as_deref()).await;
    let bounds = PromptBounds { recall, ..bounds };
    let query = SnapshotQuery::at_node(&parts.rules, caller, session, asked.parent);
    let (id, content) = (NodeId::new(parts.storage.ids.next_id(now)), asked.content);
    let rules = Arc::clone(&parts.rules);
    deadline::read_in_time(&parts.storage.store, move |reader| {
        let mut snapshot = snapshot::read(reader, &query)?;
        snapshot.stored.session.preset = asked.preset.or(snapshot.stored.session.preset);
        edit::check_parent(&snapshot.at.node)?;
        let number = match content {
            Some(content) => {
                append_virtual_message(reader, &mut snapshot, id, content, now, &query.hide_tags)?;
                snapshot.set_time_zone(time_zone);
                0
            }
            None => pending_replies(reader, &snapshot.stored, &snapshot.at)?,
        };
        let purpose = PromptPurpose { generation_task: GenerationTask::Reply, number };
        let prompt = prompts::build_prompt(&rules, reader, &mut snapshot, bounds, &purpose)?;
        to_rebuilt(reader, &snapshot.stored, prompt)
    })
    .await
}

/// Returns the number of replies of a message that waits for another one.
fn pending_replies(reader: &mut StoreReader<'_>, stored: &StoredSession, at: &StoredNode) -> Result<usize, TurnError> {
    if at.node.role == Role::Assistant || at.node.kind == Kind::Root {
        let message = "the last message is a reply: send the text of the next message".to_owned();
        return Err(TurnError::Invalid { field: "content", message });
    }
    let replies = reader.children(stored, at.node.id)?;
    Ok(replies.iter().filter(|reply| reply.node.role == Role::Assistant && reply.node.kind != Kind::Change).count())
}

/// Advances the snapshot to a message that is not written, as if it were.
pub fn append_virtual_message(
    reader: &mut StoreReader<'_>,
    snapshot: &mut TurnSnapshot,
    id: NodeId,
    content: String,
    now: Time,
    hide_tags: &[String],
) -> Result<(), TurnError> {
    let persona = snapshot.session().persona.as_ref().map(|persona| persona.id);
    let voice = UserPersona { persona, name: None };
    snapshot.cast = cast::read(reader, &snapshot.stored.session, None, &voice)?;
    let mut node = snapshot.at.node.clone();
    node.parent = Some(node.id);
    (node.id, node.role, node.kind, node.status) = (id, Role::User, Kind::Message, Status::Complete);
    (node.persona, node.character, node.name) = (persona, None, Some(snapshot.cast.user.clone()));
    (node.content, node.is_enabled, node.created) = (content, true, now);
    // It is new, whatever the message above it is: imported, edited, or a reply with thoughts.
    (node.metadata, node.reasoning) = (Box::default(), None);
    node.depth += 1;
    node.turn += 1;
    snapshot.last_message = (Arc::from(node.content.as_str()), Role::User.as_str());
    // Row 0 does not exist, so the store never finds this node.
    snapshot.at = StoredNode { node, n: 0 };
    snapshot.page.nodes.push(snapshot.at.clone());
    snapshot.load_recent(hide_tags);
    Ok(())
}

fn to_rebuilt(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    prompt: BuiltPrompt,
) -> Result<RebuiltPrompt, TurnError> {
    let rows: Vec<i64> = prompt.history.iter().copied().filter(|n| *n != 0).collect();
    let history = reader.nodes_by_row(stored, &rows)?.into_iter().map(|placed| placed.node.id).collect();
    let fault = prompt.too_large.map(|too_large| runner::prompt_too_large(too_large, prompt.has_preset()));
    let tools = prompt.tools.to_wire();
    let mut rebuilt = RebuiltPrompt::unsent(prompt, history);
    if !tools.is_empty() {
        rebuilt.head.tools = Some(tools);
    }
    rebuilt.head.reply.error = fault.map(|fault| fault.to_record());
    Ok(rebuilt)
}
