//! Personas of other programs in.

use crate::clock::{Ids, Time};
use crate::ids::PersonaId;
use crate::interop::persona::{self, PersonaError};
use crate::interop::{Fate, Finding};
use crate::store::PersonaCard;
use crate::tree::bounds::LONGEST_SPEAKER;
use crate::tree::card::fits;

use super::report::{Item, Report};

/// Reads the personas of a file, and what is to say of each. One that cannot be kept stays behind, the others come.
///
/// # Errors
/// There are none in it.
pub fn arriving_personas(
    file: &[u8],
    name: Option<&str>,
    ids: &Ids,
    now: Time,
) -> Result<(Vec<PersonaCard>, Report), PersonaError> {
    let (mut personas, mut report) = (Vec::new(), Report::default());
    for persona::Read { mut card, findings } in persona::read(file)? {
        let called: String =
            card.get("name").and_then(|name| name.as_str()).unwrap_or_default().chars().take(LONGEST_SPEAKER).collect();
        card.insert("name".to_owned(), called.clone().into());
        let mut item = match fits(&card) {
            Ok(()) => {
                let id = PersonaId::new(ids.next(now));
                personas.push(PersonaCard { id, card, created: now, updated: now });
                Item::new("persona", called, id).with(findings)
            }
            Err(unfit) => Item::skipped("persona", called, Finding::new(Fate::Skipped, "unfit", unfit.message)),
        };
        item.file = name.map(str::to_owned);
        report.items.push(item);
    }
    Ok((personas, report))
}
