//! S0-58: the tests of the four flows of a story exist and run.

use std::path::Path;

use super::{expect_none, expect_one};

/// A test of a flow: where it is, and its name.
struct FlowTest {
    flow: &'static str,
    file: &'static str,
    name: &'static str,
}

const fn flow_test(flow: &'static str, file: &'static str, name: &'static str) -> FlowTest {
    FlowTest { flow, file, name }
}

/// The flows: a normal turn, a regenerated reply, another branch, and a message after an old one. Each has a test
/// without the page and one through the page.
const TESTS: [FlowTest; 8] = [
    flow_test("S0-49", "tests/it/turn/turn_flow.rs", "twenty_turns_rebuild_from_log_and_extend_prompt"),
    flow_test("S0-49", "tests/ui/story.test.mjs", "after twenty turns through the page"),
    flow_test("S0-50", "tests/it/turn/regenerations_and_edits.rs", "reroll_sends_same_request_with_new_seed"),
    flow_test("S0-50", "tests/ui/story.test.mjs", "a second reply is requested without the first one in the prompt"),
    flow_test("S0-51", "tests/ui/story.test.mjs", "the state panel of a second tab follows"),
    flow_test("S0-51", "tests/ui/tree.test.mjs", "a second tab follows HEAD, a new message and a reply"),
    flow_test("S0-52", "tests/ui/branch-records.test.mjs", "a session continued from an old message has its own state"),
    flow_test("S0-52", "tests/it/http/save_points.rs", "node_opened_later_has_state_and_prompt_of_its_moment"),
];

/// Returns a complaint if a text has no test of this name, or one that is not run.
fn complaint_about(test: &FlowTest, text: &str) -> Option<String> {
    let FlowTest { flow, file, name } = test;
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = lines.iter().position(|line| line.contains(name)) else {
        return Some(format!("{file}: the test of {flow} is gone: \"{name}\""));
    };
    let attributes = lines[..at].iter().rev().take_while(|line| line.trim_start().starts_with(['#', '/']));
    let mut around = attributes.chain([&lines[at]]);
    let is_left_out =
        around.any(|line| ["#[ignore", "test.skip", "skip:", "todo:"].iter().any(|off| line.contains(off)));
    is_left_out.then(|| format!("{file}: the test of {flow} does not run: \"{name}\""))
}

#[test]
fn flow_tests_exist_and_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let complaints: Vec<String> = TESTS
        .iter()
        .filter_map(|test| complaint_about(test, &std::fs::read_to_string(root.join(test.file)).unwrap_or_default()))
        .collect();
    expect_none(&complaints);
}

#[test]
fn missing_and_ignored_flow_tests_are_found() {
    let test = flow_test("S0-49", "a.rs", "a_turn_goes");
    assert_eq!(complaint_about(&test, "#[test]\nfn a_turn_goes() {}"), None);
    expect_one(&complaint_about(&test, "#[test]\nfn another() {}").into_iter().collect::<Vec<_>>(), "is gone");
    let ignored = "#[test]\n#[ignore]\nfn a_turn_goes() {}";
    expect_one(&complaint_about(&test, ignored).into_iter().collect::<Vec<_>>(), "does not run");
}
