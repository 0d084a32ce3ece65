//! Transcripts: what servers of each kind send, byte for byte, and the reply that is read from it.
//!
//! `tests/fixtures/wire/KIND-WHAT.sse` (or `.ndjson`) is the body of a response, and `KIND-WHAT.expect.json` the
//! expected reply: `text`, and if present `reasoning`, `models`, `calls` (`[id, name, arguments]`), `finish`, `usage`,
//! or the code of a `failure` and some of its `words`. To add one, add these two files.

use super::*;
use std::path::Path;

fn split_expected(told: &Value) -> (Value, Value) {
    let mut told = told.clone();
    let words = told.as_object_mut().unwrap().shift_remove("words").unwrap_or_default();
    (told, words)
}

fn reply_json(heard: &CollectedReply) -> Value {
    let mut shown = json!({"text": heard.text});
    let mut put = |name: &str, value: Value| {
        if !matches!(&value, Value::Null) && value != json!([]) && value != json!("") {
            shown[name] = value;
        }
    };
    put("reasoning", heard.reasoning.clone().into());
    put("models", heard.models.clone().into());
    put("calls", heard.tool_calls.iter().map(|call| json!([call.id, call.name, call.arguments])).collect());
    put("finish", heard.finish_reasons.first().map(FinishReason::as_str).into());
    put("failure", heard.failure.as_ref().map(ProviderFailure::code).into());
    if let Some(usage) = heard.usage {
        let mut counts = json!({"prompt": usage.prompt, "completion": usage.completion});
        for (name, count) in [("cached", usage.cached), ("written", usage.written), ("reasoning", usage.reasoning)] {
            if let Some(count) = count {
                counts[name] = count.into();
            }
        }
        put("usage", counts);
    }
    shown
}

/// S0-39: every kind's stream gives the expected reply, however the network splits it.
#[tokio::test]
async fn transcripts_of_every_kind_match_expected_reply() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire");
    let mut kinds: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end == "json" || end == "md") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        let (kind, _) = name.split_once('-').unwrap();
        let told = std::fs::read_to_string(folder.join(format!("{name}.expect.json"))).unwrap();
        let (told, words) = split_expected(&serde_json::from_str(&told).unwrap());
        let body = std::fs::read(&path).unwrap();
        for slice in [usize::MAX, 7, 1] {
            let mock = MockModel::start().await;
            mock.queue_reply(Reply::raw(200, "text/event-stream", body.clone()).chunk_size(slice));
            let client = ProviderClient::new(ProviderKind::from_name(kind).unwrap(), endpoint(&mock.root_url()));
            let heard = collect_reply(client.stream(&request(json!({})))).await;
            assert_eq!(sorted_json(&reply_json(&heard)), sorted_json(&told), "{name} in pieces of {slice}");
            assert!(heard.finish_reasons.len() <= 1, "{name}");
            let said = heard.failure.map(|failure| failure.to_string()).unwrap_or_default();
            assert!(said.contains(words.as_str().unwrap_or_default()), "{name}: {said}");
        }
        kinds.push(kind.to_owned());
    }
    for kind in ProviderKind::all().filter(|kind| !matches!(kind.name(), "openai" | "horde")) {
        assert!(kinds.iter().any(|one| one == kind.name()), "{kind:?} has no transcript");
    }
}

/// Returns the JSON with sorted keys.
fn sorted_json(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}
