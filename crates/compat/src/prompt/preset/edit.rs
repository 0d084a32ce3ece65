//! Edits a preset: only the fields named in a change are replaced, everything else of the file stays byte for byte.
//!
//! A change can name the values it is based on, so that it does not overwrite a concurrent change.

use serde_json::{Map, Value, json};

use super::Preset;
use super::check::{PresetFieldError, check_extension, check_field, check_order, check_prompt};
use super::read::{DEFAULT_PARTS, ORDER_CHARACTER_ID, default_part_name, is_used_order};
use clotho_core::world::number::values_equal;

/// A change of a preset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresetPatch {
    /// Settings and samplers by name; null removes one.
    pub fields: Map<String, Value>,
    /// Fields of `extensions.clotho`; null removes one.
    pub extensions: Map<String, Value>,
    /// Parts: `identifier` and the changed fields, null removes one. An unknown part is added, at the end of the order
    /// if no order is given.
    pub prompts: Vec<Map<String, Value>>,
    /// Identifiers of removed parts.
    pub removed: Vec<String>,
    /// The complete order, and whether each part is enabled.
    pub order: Option<Vec<(String, bool)>>,
}

/// The values that a change is based on; null for missing ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpectedPreset {
    pub fields: Map<String, Value>,
    /// Fields of `extensions.clotho`.
    pub extensions: Map<String, Value>,
    /// Parts: `identifier` and their fields.
    pub prompts: Vec<Map<String, Value>>,
    pub order: Option<Vec<(String, bool)>>,
}

/// Why a preset is not changed.
#[derive(Debug, Clone, PartialEq)]
pub enum PresetPatchError {
    /// The change is invalid.
    Invalid(PresetFieldError),
    /// These values have changed since they were read.
    Conflict(Vec<String>),
}

impl From<PresetFieldError> for PresetPatchError {
    fn from(wrong: PresetFieldError) -> Self {
        Self::Invalid(wrong)
    }
}

impl PresetPatch {
    /// Applies the change and returns the new preset. A change that alters nothing causes no conflict.
    ///
    /// # Errors
    /// Returns an error if the change is invalid, or if a value in `seen` has changed meanwhile.
    pub fn apply(
        &self,
        body: &Map<String, Value>,
        seen: Option<&ExpectedPreset>,
    ) -> Result<Map<String, Value>, PresetPatchError> {
        let mut changed = body.clone();
        for (key, value) in &self.fields {
            check_field(key, value)?;
            put(&mut changed, key, value);
        }
        if !self.extensions.is_empty() {
            let own = object(object(&mut changed, "extensions")?, "clotho")?;
            for (key, value) in &self.extensions {
                check_extension(key, value)?;
                put(own, key, value);
            }
        }
        let new = self.change_parts(&mut changed)?;
        self.change_order(body, &mut changed, new)?;
        let moved = seen.filter(|_| changed != *body).map(|seen| seen.conflicts(body)).unwrap_or_default();
        if moved.is_empty() { Ok(changed) } else { Err(PresetPatchError::Conflict(moved)) }
    }

    /// Changes the parts and returns the identifiers of new ones.
    fn change_parts(&self, changed: &mut Map<String, Value>) -> Result<Vec<String>, PresetFieldError> {
        let mut new = Vec::new();
        if self.prompts.is_empty() && self.removed.is_empty() {
            return Ok(new);
        }
        let list = changed.entry("prompts").or_insert_with(|| json!([]));
        let list = list
            .as_array_mut()
            .ok_or_else(|| PresetFieldError::new("prompts", "the preset's own `prompts` is no list"))?;
        // Change or add parts, then remove some.
        let mut named: Vec<&str> = Vec::new();
        for (at, fields) in self.prompts.iter().enumerate() {
            let name = check_prompt(at, fields)?;
            if named.contains(&name) || self.removed.iter().any(|removed| removed == name) {
                let hint = "name each prompt once";
                return Err(PresetFieldError::new(
                    format!("change.prompts[{at}].identifier"),
                    format!("`{name}` stands there twice"),
                )
                .hint(hint));
            }
            named.push(name);
            match list.iter_mut().filter_map(Value::as_object_mut).find(|own| has_identifier(own, name)) {
                Some(own) => {
                    if fields.get("content").is_some_and(|text| !text.is_null())
                        && own.get("marker") == Some(&true.into())
                    {
                        return Err(marker_error(at));
                    }
                    fields.iter().for_each(|(key, value)| put(own, key, value));
                }
                None => {
                    list.push(new_part(name, at, fields)?);
                    new.push(name.to_owned());
                }
            }
        }
        for (at, name) in self.removed.iter().enumerate() {
            let place = list.iter().position(|own| own.as_object().is_some_and(|own| has_identifier(own, name)));
            let place = place.ok_or_else(|| unknown_part_error(format!("change.removed[{at}]"), name))?;
            let is_marker = list.get(place).and_then(|own| own.get("marker")) == Some(&true.into());
            if is_marker || !default_part_name(name).is_empty() {
                let message = format!("`{name}` is one that every preset has");
                return Err(
                    PresetFieldError::new(format!("change.removed[{at}]"), message).hint("switch it off instead")
                );
            }
            list.remove(place);
        }
        Ok(new)
    }

    /// Changes the order if one is given, or if parts were added or removed.
    fn change_order(
        &self,
        body: &Map<String, Value>,
        changed: &mut Map<String, Value>,
        new: Vec<String>,
    ) -> Result<(), PresetFieldError> {
        if self.order.is_none() && new.is_empty() && self.removed.is_empty() {
            return Ok(());
        }
        let mut rows = match &self.order {
            Some(rows) => rows.clone(),
            None => current_order(body).into_iter().filter(|(name, _)| !self.removed.contains(name)).collect(),
        };
        if self.order.is_some() {
            let before = current_order(body);
            let stood = |name: &str| {
                before.iter().any(|(known, _)| known == name) && !self.removed.iter().any(|gone| gone == name)
            };
            check_order(&rows, |name| !default_part_name(name).is_empty() || has_part(changed, name) || stood(name))?;
        } else {
            // Without a given order, new parts go to the end.
            rows.extend(new.into_iter().map(|name| (name, true)));
        }
        // Write the order into the list for our character id, and keep other fields of its rows.
        let lists = changed.entry("prompt_order").or_insert_with(|| json!([]));
        if !lists.is_array() {
            *lists = json!([]);
        }
        let Some(lists) = lists.as_array_mut() else { return Ok(()) };
        if !lists.iter().any(is_used_order) {
            lists.push(json!({"character_id": ORDER_CHARACTER_ID, "order": []}));
        }
        let Some(list) = lists.iter_mut().find(|list| is_used_order(list)).and_then(Value::as_object_mut) else {
            return Ok(());
        };
        let before = list.get("order").and_then(Value::as_array).cloned().unwrap_or_default();
        let row = |(name, is_on): (String, bool)| {
            let known = before.iter().find(|row| row.get("identifier").and_then(Value::as_str) == Some(&name));
            let mut row = known.and_then(Value::as_object).cloned().unwrap_or_default();
            row.insert("identifier".to_owned(), name.into());
            row.insert("enabled".to_owned(), is_on.into());
            Value::from(row)
        };
        let rows: Vec<Value> = rows.into_iter().map(row).collect();
        list.insert("order".to_owned(), rows.into());
        Ok(())
    }
}

impl ExpectedPreset {
    /// Returns the names of values that have changed since they were read.
    pub fn conflicts(&self, body: &Map<String, Value>) -> Vec<String> {
        let mut moved = changed_fields(&self.fields, Some(body), "fields.");
        let own = body.get("extensions").and_then(|extensions| extensions.get("clotho")?.as_object());
        moved.extend(changed_fields(&self.extensions, own, "own."));
        for seen in &self.prompts {
            let name = seen.get("identifier").and_then(Value::as_str).unwrap_or_default();
            moved.extend(changed_fields(seen, part(body, name), &format!("prompts.{name}.")));
        }
        moved.extend(self.order.as_ref().filter(|order| **order != current_order(body)).map(|_| "order".to_owned()));
        moved
    }

    /// Returns the current values of the same fields.
    pub fn current(&self, body: &Map<String, Value>) -> Value {
        let read = |seen: &Map<String, Value>, now: Option<&Map<String, Value>>| -> Map<String, Value> {
            let value = |key: &String| now.and_then(|now| now.get(key)).cloned().unwrap_or_default();
            seen.keys().map(|key| (key.clone(), value(key))).collect()
        };
        let own = body.get("extensions").and_then(|extensions| extensions.get("clotho")?.as_object());
        let prompt = |seen: &Map<String, Value>| {
            let name = seen.get("identifier").and_then(Value::as_str).unwrap_or_default();
            part(body, name).map(|now| read(seen, Some(now)))
        };
        let row = |(name, is_on): (String, bool)| json!({"identifier": name, "enabled": is_on});
        let order = self.order.as_ref().map(|_| current_order(body).into_iter().map(row).collect::<Vec<_>>());
        json!({
            "fields": read(&self.fields, Some(body)), "own": read(&self.extensions, own),
            "prompts": self.prompts.iter().map(prompt).collect::<Vec<_>>(), "order": order,
        })
    }
}

/// Returns the fields that differ from what was seen. A missing field equals null.
fn changed_fields(seen: &Map<String, Value>, now: Option<&Map<String, Value>>, before: &str) -> Vec<String> {
    let is_other =
        |(key, was): &(&String, &Value)| !values_equal(now.and_then(|now| now.get(*key)).unwrap_or(&Value::Null), was);
    seen.iter().filter(is_other).map(|(key, _)| format!("{before}{key}")).collect()
}

/// Returns the current order.
fn current_order(body: &Map<String, Value>) -> Vec<(String, bool)> {
    Preset::read(body).unwrap_or_default().order
}

fn part<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Map<String, Value>> {
    let list = body.get("prompts").and_then(Value::as_array)?;
    list.iter().filter_map(Value::as_object).find(|own| has_identifier(own, name))
}

fn has_part(body: &Map<String, Value>, name: &str) -> bool {
    part(body, name).is_some()
}

fn has_identifier(own: &Map<String, Value>, name: &str) -> bool {
    own.get("identifier").and_then(Value::as_str) == Some(name)
}

fn put(map: &mut Map<String, Value>, key: &str, value: &Value) {
    if value.is_null() {
        map.shift_remove(key);
    } else {
        map.insert(key.to_owned(), value.clone());
    }
}

fn object<'a>(map: &'a mut Map<String, Value>, key: &str) -> Result<&'a mut Map<String, Value>, PresetFieldError> {
    let value = map.entry(key).or_insert_with(|| json!({}));
    value.as_object_mut().ok_or_else(|| PresetFieldError::new(key, format!("the preset's own `{key}` is no object")))
}

/// Creates a part. A default part starts with the defaults for a preset that does not name it.
fn new_part(name: &str, at: usize, fields: &Map<String, Value>) -> Result<Value, PresetFieldError> {
    let known = DEFAULT_PARTS.iter().find(|(known, ..)| *known == name);
    let is_marker = known.is_some_and(|(_, text, _)| text.is_none());
    if is_marker && fields.contains_key("content") {
        return Err(marker_error(at));
    }
    let said = known.map_or(name, |(name, ..)| default_part_name(name));
    let mut part = Map::from_iter([
        ("identifier".to_owned(), name.into()),
        ("name".to_owned(), said.into()),
        ("system_prompt".to_owned(), known.is_some().into()),
        ("marker".to_owned(), is_marker.into()),
        ("role".to_owned(), "system".into()),
    ]);
    if !is_marker {
        let text = known.and_then(|(_, text, _)| *text).unwrap_or_default();
        part.insert("content".to_owned(), text.into());
        part.insert("injection_position".to_owned(), 0.into());
        part.insert("injection_depth".to_owned(), 4.into());
        part.insert("injection_order".to_owned(), 100.into());
        part.insert("forbid_overrides".to_owned(), false.into());
    }
    fields.iter().for_each(|(key, value)| put(&mut part, key, value));
    Ok(part.into())
}

fn marker_error(at: usize) -> PresetFieldError {
    PresetFieldError::new(format!("change.prompts[{at}].content"), "a marker has no text of its own")
        .hint("its text comes from the card, the persona, lore or the story")
}

fn unknown_part_error(place: String, name: &str) -> PresetFieldError {
    PresetFieldError::new(place, format!("there is no prompt `{name}`"))
        .hint("read the preset again: its prompts are in body.prompts")
}
