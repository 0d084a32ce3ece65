//! Writes a preset as complete JSON, under the field names that it is read by.

use serde_json::{Map, Value, json};

use super::read::{AS_NEEDED, ORDER_CHARACTER_ID, TURNS, default_part_name};
use super::{Preset, PresetPart, PromptLayout, PromptShares, SpeakerNaming};

impl Preset {
    /// Returns the preset as JSON that reads back as the same preset. Fields missing in the file are written with their
    /// defaults.
    pub fn to_json(&self) -> Map<String, Value> {
        let settings = &self.settings;
        let mut body = self.samplers.clone();
        let stop = body.shift_remove("stop");
        body.extend(settings.context.map(|tokens| ("openai_max_context".to_owned(), tokens.into())));
        // Settings, then parts and order, then extensions.
        body.extend(settings.reply.map(|tokens| ("openai_max_tokens".to_owned(), tokens.into())));
        let texts = [
            ("send_if_empty", &settings.send_if_empty),
            ("impersonation_prompt", &settings.impersonation),
            ("new_chat_prompt", &settings.new_chat),
            ("new_example_chat_prompt", &settings.new_example),
            ("continue_nudge_prompt", &settings.continue_nudge),
            ("wi_format", &settings.lore_format),
            ("scenario_format", &settings.scenario_format),
            ("personality_format", &settings.personality_format),
            ("assistant_prefill", &settings.prefill),
            ("assistant_impersonation", &settings.impersonation_prefill),
        ];
        body.extend(texts.map(|(key, text)| (key.to_owned(), text.as_str().into())));
        let naming = match settings.naming {
            SpeakerNaming::Never => -1,
            SpeakerNaming::Others | SpeakerNaming::AsNeeded => 0,
            SpeakerNaming::Field => 1,
            SpeakerNaming::Before => 2,
        };
        body.insert("names_behavior".to_owned(), naming.into());
        body.insert("continue_prefill".to_owned(), settings.continue_prefill.into());
        body.insert("squash_system_messages".to_owned(), settings.squash.into());
        body.insert("prompts".to_owned(), self.parts.iter().map(part_json).collect());
        let row = |(name, is_on): &(String, bool)| json!({"identifier": name, "enabled": is_on});
        let order: Vec<Value> = self.order.iter().map(row).collect();
        body.insert("prompt_order".to_owned(), json!([{"character_id": ORDER_CHARACTER_ID, "order": order}]));
        body.insert("extensions".to_owned(), self.extensions(stop));
        body
    }

    fn extensions(&self, stop: Option<Value>) -> Value {
        let mut ours = Map::new();
        ours.extend((self.settings.layout == PromptLayout::Turns).then(|| ("form".to_owned(), TURNS.into())));
        ours.extend((self.settings.naming == SpeakerNaming::AsNeeded).then(|| ("names".to_owned(), AS_NEEDED.into())));
        ours.extend(stop.map(|stop| ("stop".to_owned(), stop)));
        if !self.extensions.models.is_empty() {
            ours.insert("models".to_owned(), self.extensions.models.clone().into());
        }
        let PromptShares { lore, examples, recalled, history } = self.extensions.shares;
        let shares = [("lore", lore), ("examples", examples), ("recalled", recalled), ("history", history)];
        let shares = shares.into_iter().filter_map(|(key, percent)| Some((key.to_owned(), percent?.into())));
        let shares: Map<String, Value> = shares.collect();
        if !shares.is_empty() {
            ours.insert("shares".to_owned(), shares.into());
        }
        let mut extensions = Map::from_iter([("clotho".to_owned(), ours.into())]);
        if !self.scripts.is_empty() {
            extensions.insert("regex_scripts".to_owned(), self.scripts.clone().into());
        }
        extensions.into()
    }
}

fn part_json(part: &PresetPart) -> Value {
    let mut map = Map::from_iter([
        ("identifier".to_owned(), part.id.as_str().into()),
        ("name".to_owned(), part.name.as_str().into()),
        ("role".to_owned(), part.role.as_str().into()),
        ("system_prompt".to_owned(), (!default_part_name(&part.id).is_empty()).into()),
        ("marker".to_owned(), part.text.is_none().into()),
    ]);
    map.extend(part.text.as_ref().map(|text| ("content".to_owned(), text.as_str().into())));
    map.insert("injection_position".to_owned(), u8::from(part.chat_position.is_some()).into());
    if let Some(at) = part.chat_position {
        map.insert("injection_depth".to_owned(), at.depth.into());
        map.insert("injection_order".to_owned(), at.order.into());
    }
    map.insert("forbid_overrides".to_owned(), part.forbids_override.into());
    map.insert("injection_trigger".to_owned(), part.triggers.clone().into());
    map.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The built-in preset can be exported, edited and used like any other, without loss.
    #[test]
    fn preset_written_json_reads_back_equal() {
        for preset in [Preset::built_in(), Preset::default()] {
            assert_eq!(Preset::read(&preset.to_json()), Ok(preset));
        }
        let body = json!({
            "temperature": 0.7, "seed": 5, "openai_max_context": 4096, "openai_max_tokens": 300, "names_behavior": 2,
            "prompts": [
                {"identifier": "main", "name": "Main", "content": "Go.", "role": "user", "forbid_overrides": true},
                {"identifier": "own", "injection_position": 1, "injection_depth": 2, "content": "x", "injection_trigger": ["swipe"]},
            ],
            "prompt_order": [{"character_id": 100_001, "order": [{"identifier": "own", "enabled": true}]}],
            "extensions": {"clotho": {"stop": ["###"], "models": ["smart", "gpt-*"], "shares": {"lore": 20, "history": 40}}, "regex_scripts": [{"findRegex": "a"}]},
        });
        let preset = Preset::read(body.as_object().unwrap()).unwrap();
        assert_eq!(preset.samplers["stop"], json!(["###"]));
        assert_eq!(preset.extensions.models, ["smart", "gpt-*"]);
        assert_eq!(Preset::read(&preset.to_json()), Ok(preset));
    }

    #[test]
    fn preset_samplers_without_effect_are_left_out() {
        let samplers = |body: Value| Preset::read(body.as_object().unwrap()).unwrap().samplers;
        let set = json!({"prompts": [], "top_k": 40, "min_p": 0.05, "top_a": 0.1, "typical_p": 0.9, "repetition_penalty": 1.1,
            "reasoning_effort": "max"});
        let sent = json!({"top_k": 40, "min_p": 0.05, "top_a": 0.1, "typical_p": 0.9, "repetition_penalty": 1.1,
            "reasoning_effort": "high"});
        assert_eq!(Value::Object(samplers(set)), sent);
        let off = json!({"prompts": [], "top_k": 0, "min_p": 0.0, "top_a": 0, "typical_p": 1, "repetition_penalty": 1.0,
            "reasoning_effort": "auto", "temperature": "hot"});
        // Servers with other defaults need to be told these.
        assert_eq!(Value::Object(samplers(off)), json!({"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}));
    }
}
