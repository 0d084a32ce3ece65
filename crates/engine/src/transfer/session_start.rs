//! Creates the session for a story from another program.

use serde_json::{Map, Value};

use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{CharacterId, NodeId, PersonaId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{
    AllowedScripts, CardRef, Delta, Kind, PersonaRef, RecallSettings, RequestedSettings, Role, Session, SummarySettings,
};
use clotho_store::{NodeDraft, SourceRecord, Store, apply_settings, card_scripts};

use super::consent::has_card_scripts;
use super::import::ImportError;

/// The longest title, in characters.
const LONGEST_TITLE: usize = 300;

/// What is known of an imported session before its first message.
#[derive(Debug)]
pub struct NewImportedSession {
    pub session: SessionId,
    pub root: NodeId,
    pub owner: UserId,
    /// The time of the import.
    pub at: Time,
    /// Title candidates; the first that is not blank is used.
    pub titles: Vec<String>,
    /// The date of the first message, if known.
    pub first_message_at: Option<Time>,
    /// The characters, in speaking order.
    pub characters: Vec<CharacterId>,
    pub persona: Option<PersonaId>,
    /// The source records of the story.
    pub sources: Vec<SourceRecord>,
    /// The imported settings, by name.
    pub settings: Map<String, Value>,
    /// Whether all of them come into force (see `SessionImportOptions`).
    pub is_trusted: bool,
    /// The variables of the story before its first message, as operations of the root.
    pub variables: Delta,
}

impl NewImportedSession {
    /// Writes the session, its root and its source records in one transaction. Returns the stored persona.
    ///
    /// # Errors
    /// Returns an error if a character does not exist or the store fails.
    pub async fn write(self, store: &Store, ids: &IdGenerator) -> Result<Option<PersonaRef>, ImportError> {
        let Self { owner, at, characters: players, persona, sources, settings, is_trusted, variables, .. } = self;
        // Read the cards of characters and persona.
        let (cards, consents, persona) = store
            .read(move |reader| {
                let (mut cards, mut consents) = (Vec::new(), Vec::new());
                for id in players {
                    let card = reader.character(owner, id)?.ok_or(TreeError::NotFound("the character"))?;
                    consents.push(reader.script_consent(owner, card_scripts(&card.card))?);
                    cards.push((id, Value::Object(card.card).to_string()));
                }
                let persona = persona.map(|id| reader.persona(owner, id)).transpose()?.flatten();
                let persona = persona.map(|card| (card.id, Value::Object(card.card).to_string()));
                Ok::<_, ImportError>((cards, consents, persona))
            })
            .await?;
        // Build the session.
        let begun = self.first_message_at.filter(|time| time.has_date()).unwrap_or(at);
        let titles =
            self.titles.iter().map(|title| title.chars().filter(|c| !c.is_control()).take(LONGEST_TITLE).collect());
        let title = titles.into_iter().find(|title: &String| !title.trim().is_empty()).unwrap_or_default();
        let mut session = Session {
            id: self.session,
            owner,
            title,
            cards: Vec::new(),
            persona: None,
            root: self.root,
            head: self.root,
            op: 0,
            head_op: 0,
            mode: "tree".into(),
            model: None,
            params: Map::new(),
            preset: None,
            scripts: AllowedScripts::default(),
            recall: RecallSettings::default(),
            note: None,
            summaries: SummarySettings::default(),
            values_model: None,
            profile: None,
            plugins: Vec::new(),
            requested: RequestedSettings::default(),
            folder: None,
            tags: Vec::new(),
            is_pinned: false,
            seed: ids.next_seed(),
            edits: 0,
            created: begun,
            updated: at,
        };
        apply_settings(&mut session, &settings);
        if !is_trusted {
            let has_scripts = settings.contains_key("scripts") && cards.iter().any(|(_, card)| has_card_scripts(card));
            session.withhold_settings(has_scripts);
        }
        session.apply_script_consents(&consents);
        let mut root = NodeDraft::new(self.root, Role::System, Kind::Root, ids.next_seed(), begun);
        root.delta = variables;
        // Write it.
        let write = store.write(move |tx| {
            let mut session = session.clone();
            for (id, card) in &cards {
                session.cards.push(CardRef { id: *id, hash: tx.put_blob(card.as_bytes())? });
            }
            if let Some((id, card)) = &persona {
                session.persona = Some(PersonaRef { id: *id, hash: tx.put_blob(card.as_bytes())? });
            }
            tx.begin_session(&session, &root, &[], at)?;
            sources.iter().try_for_each(|source| tx.put_source(owner, source))?;
            Ok(session.persona)
        });
        Ok(write.await?)
    }
}
