//! Every ending of a reply, and what is shown and stored of it.

use super::*;
use clotho_core::tree::NodeMetadata;
use clotho_provider::ProviderFailure;
use proptest::prelude::*;
use serde_json::{Map, json};

fn text_event(text: &str) -> ReplyEvent {
    ReplyEvent::Frame(Frame::Text(text.into()))
}

/// The facts of a machine in their stored form.
fn stored_facts(machine: &ReplyMachine) -> Map<String, Value> {
    let mut facts = ReplyFacts::default();
    machine.record_ending(&mut facts);
    NodeMetadata { reply: facts, ..NodeMetadata::default() }.into()
}

fn run_events(events: Vec<ReplyEvent>) -> (ReplyMachine, Vec<ReplyAction>) {
    let mut machine = ReplyMachine::new(Time(1_000));
    let mut now = 1_000;
    let actions = events
        .into_iter()
        .flat_map(|event| {
            now += 10;
            let action = machine.handle_event(event, Time(now));
            machine.take_rest().into_iter().chain(action)
        })
        .collect();
    (machine, actions)
}

/// S3-12: a model that calls tools is asked again; its new text is appended and its usage is added.
#[test]
fn machine_tool_calls_continue_reply() {
    let mut machine = ReplyMachine::new(Time(0));
    machine.allow_tools(1, false);
    let usage = |prompt| ReplyEvent::Frame(Frame::Usage(Usage { prompt, completion: 1, ..Usage::default() }));
    let wants =
        || ReplyEvent::Frame(Frame::ToolCall(ToolCall { id: "c".into(), name: "roll".into(), ..ToolCall::default() }));
    for event in [text_event("She rolls."), wants(), usage(10)] {
        machine.handle_event(event, Time(1));
    }
    assert_eq!(machine.handle_event(ReplyEvent::Ended, Time(1)), Some(ReplyAction::CallTools));
    assert_eq!((machine.is_finished(), machine.pending_tools().1), (false, "She rolls."));
    machine.continue_after_tools();
    for event in [text_event("A six."), usage(20)] {
        machine.handle_event(event, Time(2));
    }
    assert_eq!(machine.handle_event(ReplyEvent::Ended, Time(2)), Some(ReplyAction::Finish));
    assert_eq!((machine.content(), machine.usage().unwrap().prompt), ("She rolls.\n\nA six.", 30));
    assert_eq!(stored_facts(&machine)["toolCalls"].as_array().unwrap().len(), 1);
    // No round is left: a reply that only wants tools and has no text fails.
    let mut silent = ReplyMachine::new(Time(0));
    silent.allow_tools(0, false);
    silent.handle_event(wants(), Time(1));
    silent.handle_event(ReplyEvent::Ended, Time(1));
    let fault =
        silent.fault().map(|fault| (fault.failure.code.as_str(), fault.failure.message.contains("called tools")));
    assert_eq!(fault, Some(("empty_reply", true)));
}

/// S0-36: pieces are shown as they arrive, and the end is one action.
#[test]
fn machine_reply_streams_and_finishes() {
    let usage = Usage { prompt: 7, completion: 2, cached: Some(5), ..Usage::default() };
    let (machine, actions) = run_events(vec![
        ReplyEvent::Frame(Frame::Queued { place: 2 }),
        ReplyEvent::Frame(Frame::KeepAlive),
        ReplyEvent::Frame(Frame::Reasoning("hm".into())),
        text_event("Hello"),
        text_event(""),
        text_event(" there"),
        ReplyEvent::Frame(Frame::Finish(FinishReason::Stop)),
        ReplyEvent::Frame(Frame::Usage(usage)),
        ReplyEvent::Ended,
    ]);
    let phases: Vec<&str> = actions
        .iter()
        .map(|action| match action {
            ReplyAction::Show { phase, .. } => phase,
            ReplyAction::ShowQueued { place: 2 } => "queued",
            ReplyAction::ShowQueued { .. } | ReplyAction::CallTools => "call",
            ReplyAction::Finish => "finish",
        })
        .collect();
    assert_eq!(phases, ["queued", "thinking", "streaming", "streaming", "finish"]);
    assert_eq!((machine.content(), machine.reasoning()), ("Hello there", Some("hm")));
    assert!(machine.runs_rules() && machine.status() == Status::Complete);
    let facts = stored_facts(&machine);
    assert_eq!(facts["finishReason"], "stop");
    assert_eq!(facts["tokenCount"], json!({"prompt": 7, "completion": 2}));
    assert_eq!((&facts["cachedTokens"], &facts["cost"]), (&json!(5), &Value::Null));
    // S1-13: the time to the first token and to the end.
    assert_eq!((&facts["firstTokenMs"], &facts["latencyMs"]), (&json!(30), &json!(90)));
}

/// Uncalled tool calls are reported in the metadata; switching the model drops those of the previous one.
#[test]
fn machine_uncalled_tools_are_reset_on_model_switch() {
    let call = || ReplyEvent::Frame(Frame::ToolCall(ToolCall { name: "roll".into(), ..ToolCall::default() }));
    let (machine, _) = run_events(vec![call(), text_event("Hm."), ReplyEvent::Ended]);
    assert_eq!(stored_facts(&machine)["toolCalls"][0]["name"], "roll");
    let (mut machine, _) = run_events(vec![call(), ReplyEvent::Frame(Frame::Model("m".into()))]);
    assert!(machine.is_empty());
    machine.switch_model();
    machine.handle_event(text_event("Hm."), Time(2_000));
    assert!(!machine.is_empty());
    assert_eq!((stored_facts(&machine).get("toolCalls"), stored_facts(&machine).get("reportedModel")), (None, None));
}

/// Text that turns out to be a thought is taken back, and a tool call in it is not made.
#[test]
fn machine_thought_is_taken_back_with_its_calls() {
    let call = "<tool_call>{\"name\": \"roll\", \"arguments\": {}}</tool_call>";
    let mut machine = ReplyMachine::new(Time(0)).parting_thoughts(&["think".to_owned()]);
    machine.allow_tools(1, true);
    machine.handle_event(text_event("I may roll."), Time(1));
    machine.handle_event(text_event(call), Time(1));
    machine.handle_event(text_event("\n</think>\n"), Time(1));
    let back = machine.handle_event(text_event("She waits."), Time(2));
    let content = "She waits.".to_owned();
    let taken = ReplyAction::Show { keep: Some(0), content, reasoning: "I may roll.".into(), phase: "streaming" };
    assert_eq!(back, Some(taken));
    assert_eq!(machine.handle_event(ReplyEvent::Ended, Time(2)), Some(ReplyAction::Finish));
    assert_eq!((machine.content(), machine.reasoning()), ("She waits.", Some("I may roll.")));
    assert!(!stored_facts(&machine).contains_key("toolCalls"));
}

/// A reply cut off in its thought has no text.
#[test]
fn machine_cut_thought_is_no_text() {
    let mut machine = ReplyMachine::new(Time(0)).parting_thoughts(&["think".to_owned()]);
    machine.handle_event(text_event("<think>He wants the"), Time(1));
    machine.handle_event(ReplyEvent::Frame(Frame::Finish(FinishReason::Length)), Time(1));
    machine.handle_event(ReplyEvent::Ended, Time(2));
    assert_eq!((machine.content(), machine.reasoning()), ("", Some("He wants the")));
    assert_eq!(stored_facts(&machine)["error"]["code"], "empty_reply");
}

/// S3-23: a cancelled reply with text is complete and truncated, and no rules run on it.
#[test]
fn machine_cancelled_reply_keeps_text_without_rules() {
    let (machine, _) = run_events(vec![text_event("Half a"), ReplyEvent::Cancelled, text_event(" lost")]);
    assert_eq!((machine.content(), machine.status()), ("Half a", Status::Complete));
    assert!(!machine.runs_rules());
    assert_eq!(stored_facts(&machine)["finishReason"], "cancelled");
    assert_eq!(stored_facts(&machine)["isTruncated"], true);
}

/// S4-29: a fault keeps what arrived and says why.
#[test]
fn machine_failed_reply_keeps_text_and_fault() {
    let fault = ReplyFault::from(&ProviderFailure::CutOff);
    for (events, code) in [
        (vec![text_event("Half"), ReplyEvent::Failed(fault)], "cut_off"),
        (vec![ReplyEvent::Ended], "empty_reply"),
        (vec![text_event(" \n"), ReplyEvent::Ended], "empty_reply"),
        (vec![ReplyEvent::Frame(Frame::Reasoning("only thought".into())), ReplyEvent::Ended], "empty_reply"),
        (vec![ReplyEvent::Cancelled], "cancelled"),
        (vec![text_event(" \n"), ReplyEvent::Cancelled], "cancelled"),
    ] {
        let (machine, actions) = run_events(events);
        assert_eq!(machine.status(), Status::Error);
        assert_eq!(stored_facts(&machine)["error"]["code"], code);
        assert_eq!(actions.last(), Some(&ReplyAction::Finish));
        assert!(!machine.runs_rules());
    }
}

/// `domain.md` 5.8: new text is appended to the continued text; without any the reply fails and keeps that text.
#[test]
fn machine_continued_reply_appends_to_prefix() {
    let go_on = |events: Vec<ReplyEvent>| {
        let mut machine = ReplyMachine::new(Time(1_000)).continuing_from("She lights");
        let shown: Vec<ReplyAction> =
            events.into_iter().filter_map(|event| machine.handle_event(event, Time(1_010))).collect();
        (machine, shown)
    };
    let (machine, shown) =
        go_on(vec![text_event("She "), text_event("lights"), text_event(" the lamp."), ReplyEvent::Ended]);
    assert_eq!((machine.content(), machine.status()), ("She lights the lamp.", Status::Complete));
    let piece =
        ReplyAction::Show { keep: None, content: " the lamp.".into(), reasoning: String::new(), phase: "streaming" };
    assert_eq!(shown, [piece, ReplyAction::Finish]);
    let (machine, _) = go_on(vec![text_event("She"), ReplyEvent::Ended]);
    assert_eq!(machine.content(), "She lightsShe", "what is no whole echo is text");
    let (machine, shown) =
        go_on(vec![ReplyEvent::Frame(Frame::Reasoning("hm".into())), text_event("She lights"), ReplyEvent::Ended]);
    assert!(matches!(&shown[0], ReplyAction::Show { phase: "thinking", .. }), "{shown:?}");
    assert_eq!((machine.content(), machine.status()), ("She lights", Status::Error));
    assert_eq!(stored_facts(&machine)["error"]["code"], "empty_reply");
    let (machine, _) = go_on(vec![ReplyEvent::Cancelled]);
    assert_eq!((machine.content(), &stored_facts(&machine)["error"]["code"]), ("She lights", &json!("cancelled")));
}

/// A reply stopped by a content filter is truncated if it has text; else it fails with the provider's words.
#[test]
fn machine_content_filter_truncates_or_fails() {
    let held_back = || ReplyEvent::Frame(Frame::Finish(FinishReason::ContentFilter("content_filter, SAFETY".into())));
    let (machine, _) = run_events(vec![text_event("Half"), held_back(), ReplyEvent::Ended]);
    assert_eq!((machine.status(), machine.runs_rules()), (Status::Complete, true));
    assert_eq!(
        (&stored_facts(&machine)["isTruncated"], &stored_facts(&machine)["finishReason"]),
        (&json!(true), &json!("content_filter"))
    );
    let (machine, _) = run_events(vec![text_event(" "), held_back(), ReplyEvent::Ended]);
    assert_eq!((machine.status(), machine.runs_rules()), (Status::Error, false));
    let error = &stored_facts(&machine)["error"];
    assert_eq!(error["code"], "provider_refused");
    assert_eq!(error["message"], "the model server blocked the reply: content_filter, SAFETY");
}

/// A reply whose server did not say why it ended may be cut, and says so.
#[test]
fn machine_unstated_end_counts_as_truncated() {
    let unstated = ReplyEvent::Frame(Frame::Finish(FinishReason::Unstated));
    let (machine, _) = run_events(vec![text_event("The crew worked hard"), unstated, ReplyEvent::Ended]);
    assert_eq!((machine.status(), machine.runs_rules()), (Status::Complete, true));
    let facts = stored_facts(&machine);
    assert_eq!((&facts["isTruncated"], &facts["finishReason"]), (&json!(true), &Value::Null));
    let (machine, _) = run_events(vec![text_event("She waits."), ReplyEvent::Ended]);
    assert_eq!(stored_facts(&machine)["isTruncated"], false);
}

/// A reply that was stopped, or ended for a reason that nobody knows, may lack its end, and tells the reason.
#[test]
fn machine_aborted_and_unknown_ends_count_as_truncated() {
    for (finish, reason) in
        [(FinishReason::Aborted("CANCELED".into()), "abort"), (FinishReason::Other("repetition".into()), "repetition")]
    {
        let events = vec![text_event("Half"), ReplyEvent::Frame(Frame::Finish(finish)), ReplyEvent::Ended];
        let (machine, _) = run_events(events);
        assert_eq!((machine.status(), machine.runs_rules()), (Status::Complete, true), "{reason}");
        let facts = stored_facts(&machine);
        assert_eq!((&facts["isTruncated"], &facts["finishReason"]), (&json!(true), &json!(reason)));
    }
}

/// A reply without text has the server's reason in its message.
#[test]
fn machine_empty_reply_names_finish_reason() {
    for (finish, expected) in [
        (FinishReason::Other("MALFORMED_FUNCTION_CALL".into()), "MALFORMED_FUNCTION_CALL"),
        (FinishReason::Aborted("abort".into()), "abort"),
        (FinishReason::Length, "length"),
    ] {
        let (machine, _) = run_events(vec![ReplyEvent::Frame(Frame::Finish(finish)), ReplyEvent::Ended]);
        let error = stored_facts(&machine)["error"].clone();
        assert_eq!(error["code"], "empty_reply");
        assert!(error["message"].as_str().unwrap().contains(expected), "{error}");
        assert_eq!(error["args"], json!({"words": expected}));
    }
}

/// The speaker's own name is dropped from the start of the text, in each request. What could still be a name is
/// shown at the end, also of a reply that fails.
#[test]
fn machine_own_name_is_stripped_while_streaming() {
    let named = |events: Vec<ReplyEvent>| {
        let mut machine = ReplyMachine::new(Time(0));
        machine.strip_name("Mira");
        events.into_iter().for_each(|event| _ = machine.handle_event(event, Time(1)));
        machine
    };
    let machine = named(vec![text_event("Mi"), text_event("ra: No, "), text_event("Mira: no."), ReplyEvent::Ended]);
    assert_eq!(machine.content(), "No, Mira: no.");
    assert_eq!(named(vec![text_event("Mira:"), ReplyEvent::Ended]).content(), "Mira:");
    assert_eq!(named(vec![text_event("Mi"), ReplyEvent::Cancelled]).content(), "Mi");
    let fault = || ReplyEvent::Failed(ReplyFault::from(&ProviderFailure::CutOff));
    assert_eq!(named(vec![text_event("Mira: M"), fault()]).content(), "M");
    let mut machine = named(vec![text_event("Mir")]);
    machine.handle_event(ReplyEvent::Ended, Time(1));
    let shown = ReplyAction::Show { keep: None, content: "Mir".into(), reasoning: String::new(), phase: "streaming" };
    assert_eq!((machine.take_rest(), machine.content()), (Some(shown), "Mir"));
    let mut machine = ReplyMachine::new(Time(0)).continuing_from("She lights");
    machine.strip_name("Mira");
    machine.handle_event(text_event("Mira: x"), Time(1));
    assert_eq!(machine.content(), "She lightsMira: x");
}

/// What the server wants back belongs to one round of tools.
#[test]
fn machine_provider_state_belongs_to_one_round() {
    let mut machine = ReplyMachine::new(Time(0));
    machine.handle_event(ReplyEvent::Frame(Frame::ProviderState(json!(["s"]))), Time(1));
    assert_eq!((machine.take_provider_state(), machine.take_provider_state()), (Some(json!(["s"])), None));
    machine.handle_event(ReplyEvent::Frame(Frame::ProviderState(json!(["s"]))), Time(1));
    machine.continue_after_tools();
    assert_eq!(machine.take_provider_state(), None);
}

/// A cost is stored without the noise of binary fractions, also as the sum of two requests.
#[test]
fn machine_cost_is_rounded() {
    let usage = |cost| {
        let usage = Usage { prompt: 1, completion: 1, cost: Some(cost), ..Usage::default() };
        ReplyEvent::Frame(Frame::Usage(usage))
    };
    let (mut machine, _) = run_events(vec![text_event("a"), usage(0.020_999_999_999_999_998)]);
    assert_eq!(stored_facts(&machine)["cost"].to_string(), "0.021");
    machine.continue_after_tools();
    machine.handle_event(usage(0.1), Time(2));
    assert_eq!(stored_facts(&machine)["cost"].to_string(), "0.121");
}

#[test]
fn machine_length_stop_truncates_and_nul_is_replaced() {
    let thought = ReplyEvent::Frame(Frame::Reasoning("c\0d".into()));
    let (machine, _) = run_events(vec![
        thought,
        text_event("a\0b"),
        ReplyEvent::Frame(Frame::Finish(FinishReason::Length)),
        ReplyEvent::Ended,
    ]);
    assert_eq!((machine.content(), machine.reasoning()), ("a\u{fffd}b", Some("c\u{fffd}d")));
    assert_eq!(stored_facts(&machine)["isTruncated"], true);
    assert!(machine.runs_rules());
}

fn any_event() -> impl Strategy<Value = ReplyEvent> {
    let words = prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a\0天 ]{1,4}"];
    let usage = Usage { prompt: 1, completion: 1, ..Usage::default() };
    prop_oneof![
        8 => words.clone().prop_map(|words| ReplyEvent::Frame(Frame::Text(words))),
        3 => words.prop_map(|words| ReplyEvent::Frame(Frame::Reasoning(words))),
        1 => Just(ReplyEvent::Frame(Frame::KeepAlive)),
        1 => Just(ReplyEvent::Frame(Frame::Usage(usage))),
        1 => Just(ReplyEvent::Frame(Frame::Model("m".into()))),
        1 => Just(ReplyEvent::Frame(Frame::Finish(FinishReason::Length))),
        1 => Just(ReplyEvent::Ended),
        1 => Just(ReplyEvent::Cancelled),
        1 => Just(ReplyEvent::Failed(ReplyFault::from(&ProviderFailure::CutOff))),
    ]
}

proptest! {
    /// S4-47: for any order of events, a reply ends exactly once, nothing is shown after that, and the shown text
    /// is the stored text.
    #[test]
    fn machine_any_event_order_ends_once(events in proptest::collection::vec(any_event(), 0..24)) {
        let (machine, actions) = run_events(events.clone());
        let ends = |event: &ReplyEvent| matches!(event, ReplyEvent::Ended | ReplyEvent::Cancelled | ReplyEvent::Failed(_));
        let finishes = actions.iter().filter(|action| **action == ReplyAction::Finish).count();
        prop_assert_eq!(finishes, usize::from(events.iter().any(ends)));
        prop_assert_eq!(machine.is_finished(), finishes == 1);
        prop_assert!(finishes == 0 || actions.last() == Some(&ReplyAction::Finish));
        let mut shown = (String::new(), String::new());
        for action in &actions {
            if let ReplyAction::Show { content, reasoning, phase, .. } = action {
                shown.0.push_str(content);
                shown.1.push_str(reasoning);
                prop_assert_eq!(*phase == "thinking", shown.0.is_empty());
            }
        }
        prop_assert_eq!((shown.0.as_str(), shown.1.as_str()), (machine.content(), machine.reasoning().unwrap_or("")));
        prop_assert!(!machine.content().contains('\0'));
    }

    /// S4-11: the ending decides the status; rules run only on replies that finished normally.
    #[test]
    fn machine_status_follows_outcome(events in proptest::collection::vec(any_event(), 0..24)) {
        let (machine, _) = run_events(events);
        let facts = stored_facts(&machine);
        let failed = facts.contains_key("error");
        match machine.status() {
            Status::Generating => prop_assert!(!machine.is_finished()),
            Status::Error => prop_assert!(failed && !machine.runs_rules()),
            Status::Complete => prop_assert!(!failed && !machine.content().trim().is_empty()),
        }
        prop_assert_eq!(machine.runs_rules(), machine.status() == Status::Complete && facts["finishReason"] != "cancelled");
        prop_assert_eq!(facts["firstTokenMs"].is_null(), machine.content().is_empty() && machine.reasoning().is_none());
    }
}
