//! Tests of the split of replies into text and thoughts.

use proptest::prelude::*;

use super::*;

fn marks() -> ThoughtMarks {
    ThoughtMarks::from_hidden_tags(&["think".to_owned(), "UpdateVariable".to_owned(), "<<r…r>>".to_owned()])
}

/// Splits a reply that arrives in pieces.
fn stream(pieces: &[&str], is_cut: bool) -> (String, String) {
    let mut splitter = ThoughtSplitter::new(marks());
    let mut parts = ReplyParts::default();
    for piece in pieces {
        parts.push(splitter.push(piece));
    }
    parts.push(splitter.finish(is_cut));
    (parts.text, parts.thoughts)
}

/// Checks a reply as a whole and letter by letter.
fn check(reply: &str, text: &str, thoughts: &str) {
    let expected = (text.to_owned(), thoughts.to_owned());
    assert_eq!(stream(&[reply], false), expected, "{reply}");
    let letters: Vec<String> = reply.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(stream(&letters, false), expected, "letter by letter: {reply}");
    // What is stored is read again as it stands.
    let again = split_reply(text, !thoughts.is_empty(), &marks()).map_or_else(|| text.to_owned(), |parts| parts.text);
    assert_eq!(again, text, "again: {reply}");
}

#[test]
fn thoughts_at_the_beginning_are_parted() {
    check("<think>Hm.</think>No.", "No.", "Hm.");
    check(" \n<think>\nHm.\n\nWell.\n</think>\n\nNo.", "No.", "Hm.\n\nWell.");
    check("<think>never closed", "", "never closed");
    check("<think></think>\n\nNo.", "No.", "");
    check("<think>a</think>\n<think>b</think>\nNo.", "No.", "a\n\nb");
    check("<think>\n\n</think>No. <b>Never</b>", "No. <b>Never</b>", "");
    check("<think/>No.", "No.", "");
    check("  No.\n", "  No.\n", "");
    check("\n \n", "\n \n", "");
}

#[test]
fn thoughts_with_lone_closing_mark_are_parted() {
    check("Plan: he wants it. I refuse.\n</think>\n\nNo, says Mira.", "No, says Mira.", "Plan: he wants it. I refuse.");
    check("Plan.</think>No.", "No.", "Plan.");
    check("Plan.</ THINK >No.", "No.", "Plan.");
    check("Plan.</thinking>No.", "No.", "Plan.");
    check("Plan.[/THINK]No.", "No.", "Plan.");
    check("Plan.◁/think▷No.", "No.", "Plan.");
    check("Plan.<channel|>No.", "No.", "Plan.");
    check("Plan.<|end_of_thought|>No.", "No.", "Plan.");
    check("</think>\n\nNo.", "No.", "");
    check("Plan.</think>She said </think> to me.", "She said </think> to me.", "Plan.");
    check("I am \"sure\"</think>\"No,\" says Mira.", "\"No,\" says Mira.", "I am \"sure\"");
    // The thought speaks of a mark in an earlier paragraph.
    check("He wrote <think> on it.\n\nI refuse.\n</think>\nNo.", "No.", "He wrote <think> on it.\n\nI refuse.");
    // A mark behind the whole answer hides nothing.
    check("<think>a</think>No.\n</think>", "No.", "a");
    check("<think>I end with </think> then.</think>No.", "No.", "I end with\n\nthen.");
}

#[test]
fn thoughts_with_closing_marks_on_own_lines_are_parted() {
    check("key one.\n</think>\n\nkey two.\n</think>\n\nNo.", "No.", "key one.\n\nkey two.");
    check(
        "key one.\n</think>\nkey two.\n [/THINK] \r\nkey three.\n</think>\nNo.",
        "No.",
        "key one.\n\nkey two.\n\nkey three.",
    );
    check("<think>a</think>key.\n</think>\nkey two.\n</think>\nNo.", "No.", "a\n\nkey.\n\nkey two.");
    check("key.\n</think>\n</think>\n\nNo.", "No.", "key.");
    check("key.</think><think>b</think>No.", "No.", "key.\n\nb");
    check("key.\n</think>\n<think>b</think>No.", "No.", "key.\n\nb");
    // An opening mark that the thought speaks of takes no closing mark on its own line.
    check("He wrote <think> key in it. Refuse.\n</think>\n\nNo.", "No.", "He wrote <think> key in it. Refuse.");
    check("<think>a</think>He wrote <think> in it.\n</think>\nNo.", "No.", "a\n\nHe wrote <think> in it.");
    let many = "a\n</think>\n".repeat(12);
    assert_eq!(stream(&[&many, "No."], false).0.matches('a').count(), 4, "a bound");
}

#[test]
fn thoughts_closing_marks_in_sentences_are_text() {
    for text in [
        "Mira writes </think> on the wall.",
        "She says the tag </think> ends it.",
        "She says the tag </think>, which ends thoughts, is ugly.",
        "She says: \"The tag </think> ends it.\"",
        "She says: \"Write the tag </think>\" and waves.",
        "Use </think>. Then go.",
        "Is it </think>? Or </think>! ($ </think>)",
    ] {
        check(text, text, "");
        for before in ["<think>a</think>", "a\n</think>\n", "a</think>"] {
            check(&format!("{before}{text}"), text, "a");
        }
    }
    for (reply, text) in [
        ("plan.</think>No.", "No."),
        ("plan </think> No.", "No."),
        ("plan </think> 不。", "不。"),
        ("plan </think> *nods*", "*nods*"),
        ("plan </think> \"No.\"", "\"No.\""),
        ("plan </think>\"No.\"", "\"No.\""),
        ("plan </think>...No.", "...No."),
        ("plan\n</think>No.", "No."),
        ("plan\n</think> no.", "no."),
        ("plan</think>\n\nNo.", "No."),
        ("plan</think>no.", "no."),
        ("plan </think>                      no.", "no."),
    ] {
        check(reply, text, reply.split("</think>").next().unwrap().trim());
        check(
            &format!("<think>a</think>{reply}"),
            text,
            &format!("a\n\n{}", reply.split("</think>").next().unwrap().trim()),
        );
    }
}

#[test]
fn thoughts_closing_mark_at_the_end_is_dropped() {
    for reply in ["No, says Mira.</think>", "No, says Mira.\n</think>\n", "No, says Mira. </think>\n\n</think>\u{200b}"]
    {
        check(reply, "No, says Mira.", "");
    }
    check("<|begin_of_solution|>No.\n<|end_of_solution|>\n", "No.", "");
    check("  No.\n", "  No.\n", "");
    let cut = (String::new(), "Plan.".to_owned());
    assert_eq!(stream(&["Plan.\n</think>\n"], true), cut, "a reply that was cut off behind its thought");
    check("<think>Plan.\n</think>\n", "", "Plan.");
}

#[test]
fn thoughts_behind_names_and_invisible_characters_are_parted() {
    check("Mira: <think>key</think>No.", "Mira: No.", "key");
    check("**Mira:** <think>key</think>No.", "**Mira:** No.", "key");
    check("\n米拉：<think>key</think>不。", "\n米拉：不。", "key");
    check("Mira Vale: <think>key</think>No.", "Mira Vale: No.", "key");
    for text in ["MIRA: <think>. She laughs.", "She wrote: <think>no</think> on it."] {
        check(text, text, "");
    }
    for blank in ["\u{200b}", "\u{feff}", "\u{2060} \n"] {
        check(&format!("{blank}<think>key</think>{blank}No."), "No.", "key");
        check(&format!("{blank}<think>key"), "", "key");
        check(
            &format!("One.\n{blank}<think>key</think>\nTwo.").replace(" \n<", " <"),
            &format!("One.\n{blank}Two.").replace(" \nT", " T"),
            "key",
        );
    }
    let long = format!("{}: <think>a</think>b", "She said at last".repeat(3));
    check(&long, &long, "");
}

#[test]
fn thoughts_only_spoken_of_are_text() {
    for text in [
        "Mira scratches the word <think> into the wall. Then she waves.",
        "The old terminal prints `<think>` and hangs. The room goes dark.",
        "The old terminal prints `<think>hm</think>` and hangs.",
        "He says \"<think>\" and “</think>” to '</think>' and 「</think>」.",
        "She wrote <think>no</think> on the wall.",
        "```\n<think>\nsecret\n</think>\n```\nThat is the format.",
        "Look:\n~~~xml\n<think>a</think>\n~~~\nEnd.",
        "`<think>` is a tag. `</think>` too.",
        "\\<think\\>escaped\\</think\\>",
        "\\<think>escaped",
        "&lt;think&gt;x&lt;/think&gt;",
        "> <think>quoted</think>",
        "<thinker>stays</thinker>",
        "<think about it> she said.",
        "A line.\n<think> is what stands there, and nothing closes it.\n\nShe reads it.",
        "a < b, [x] and ◁ too, a <",
        "A word: r>> is no mark of a thought when the text says `r>>`.",
    ] {
        check(text, text, "");
    }
}

#[test]
fn thoughts_further_down_begin_lines() {
    check("One.\n\n<think>b</think>\n\nTwo.", "One.\n\nTwo.", "b");
    check("<think>a</think>One.\n<think>b</think>\nTwo.", "One.\nTwo.", "a\n\nb");
    check("One. <think>b</think> Two.", "One. <think>b</think> Two.", "");
    let cut = ("One.\n".to_owned(), "b is cut".to_owned());
    assert_eq!(stream(&["One.\n<think>b is", " cut"], true), cut, "a reply that was cut ends in its thought");
}

#[test]
fn thoughts_inside_of_thoughts_are_matched() {
    check(
        "<think>He wrote <think> in his note. I refuse.</think> in it.</think>No.",
        "No.",
        "He wrote <think> in his note. I refuse.</think> in it.",
    );
    check("<think> a <think> b </think> c </think> No.", "No.", "a <think> b </think> c");
    check("<think>\na\n<think>\nb\n</think>\nc\n</think>\nNo.", "No.", "a\n<think>\nb\n</think>\nc");
    check("<think><think>a</think>No.", "No.", "a");
    check("<think>He wrote <think> in it.</think>No, says Mira.", "No, says Mira.", "He wrote <think> in it.</think>");
    check("<think>He wrote <think> in it.\n</think>\nNo.", "No.", "He wrote <think> in it.");
    check(
        "<think>The mark `</think>` and `<think>` are known.</think>No.",
        "No.",
        "The mark `</think>` and `<think>` are known.",
    );
    check("<think>a</thinking>No.", "No.", "a</thinking>");
    check("<think>[THINK]a[/THINK] b</think>No.", "No.", "[THINK]a[/THINK] b");
}

#[test]
fn thoughts_in_other_marks_are_parted() {
    for (open, close) in [
        ("<THINK>", "</Think>"),
        ("<think type=\"deep\" n=2>", "</think>"),
        ("< think >", "< / think >"),
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning>"),
        ("<seed:think>", "</seed:think>"),
        ("[THINK]", "[/THINK]"),
        ("[think]", "[/think]"),
        ("◁think▷", "◁/think▷"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<<R", "r>>"),
    ] {
        check(&format!("{open}\nHe wants the key.\n{close}\n\nNo."), "No.", "He wants the key.");
        check(&format!("{open}{close}No."), "No.", "");
    }
    check("<|begin_of_solution|>No.<|end_of_solution|>", "No.", "");
}

#[test]
fn thoughts_in_channels_are_parted() {
    let last = "<|start|>assistant<|channel|>final<|message|>No.<|return|>";
    check(&format!("<|channel|>analysis<|message|>Key.<|end|>{last}"), "No.", "Key.");
    check(&format!("<|start|>assistant<|channel|>analysis<|message|>Key.<|end|>{last}"), "No.", "Key.");
    check(
        &format!(
            "<|channel|>analysis<|message|>Key.<|end|><|start|>assistant<|channel|>commentary to=f <|constrain|>json<|message|>{{}}<|call|>{last}"
        ),
        "No.",
        "Key.\n\n{}",
    );
    check("<|channel|>analysis<|message|>Key.<|channel|>final<|message|>No.", "No.", "Key.");
    check("<|channel|>final<|message|>No.<|end|>", "No.", "");
    check("Key.<|start|>assistant<|channel|>final<|message|>No.", "No.", "Key.");
    check("<|channel|>analysis<|message|>only", "", "only");
    check("The token <|channel|> and <|end|> are words.", "The token <|channel|> and <|end|> are words.", "");
}

#[test]
fn thoughts_without_thought_tags_are_text() {
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let other = ThoughtMarks::from_hidden_tags(&tags(&["UpdateVariable"]));
    assert_eq!(split_reply("<think>a</think>b", false, &other), None);
    let own = ThoughtMarks::from_hidden_tags(&tags(&["Thoughts:...Answer:"]));
    let parts = split_reply("Thoughts: hm. Answer: no.", false, &own).unwrap();
    assert_eq!((parts.text.as_str(), parts.thoughts.as_str()), ("no.", "hm."));
    assert_eq!(split_reply("The answer: no.", false, &own), None, "a word is no lone closing mark");
    let cot = ThoughtMarks::from_hidden_tags(&tags(&["CoT"]));
    assert_eq!(split_reply("<cot>a</cot>b", false, &cot).unwrap().text, "b");
    assert_eq!(split_reply("<analysis>a</analysis>b", false, &cot), None);
    for bad in ["think", "…", "a…", "…b", "x…X"] {
        assert_eq!(mark_pair(bad), None, "{bad}");
    }
}

#[test]
fn thoughts_appended_text_begins_anew() {
    let mut splitter = ThoughtSplitter::new(marks());
    splitter.restart_after("```\ncode");
    let mut parts = ReplyParts::new("```\ncode".to_owned(), String::new());
    parts.push(splitter.push("\n<think>code</think>\n```\n"));
    parts.push(splitter.finish(false));
    assert_eq!(parts.text, "```\ncode\n<think>code</think>\n```\n");
    splitter.restart_after("");
    parts.settle();
    parts.push(splitter.push("Plan.</think>She waits."));
    parts.push(splitter.finish(false));
    assert_eq!(
        (parts.text.as_str(), parts.thoughts.as_str()),
        ("```\ncode\n<think>code</think>\n```\nShe waits.", "Plan.")
    );
}

#[test]
fn thoughts_open_mark_at_end_of_prompt_is_found() {
    for (prompt, mark) in [
        ("<|im_start|>assistant\n<think>\n", Some("<think>")),
        ("<｜Assistant｜><think>\n", Some("<think>")),
        ("Hi.[/INST][THINK]", Some("[THINK]")),
        ("<|start|>assistant<|channel|>analysis<|message|>", Some("<|channel|>analysis<|message|>")),
        ("<|turn>model\n<|channel>thought\n", Some("<|channel>thought")),
        ("<seed:bos>assistant\n<seed:think>", Some("<seed:think>")),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", None),
        ("<|start|>assistant<|channel|>final<|message|>", None),
        ("<|im_start|>assistant\nShe reads the word <think>", None),
        ("<|im_start|>assistant\n", None),
        ("", None),
    ] {
        assert_eq!(open_mark_at_end(prompt), mark, "{prompt}");
    }
}

/// A text with many characters that begin marks is read in linear time, in any pieces.
#[test]
fn thoughts_many_half_marks_are_linear() {
    for unit in ["<", "<think", "<|channel|>", "</", "[", "<think a=", "◁", "`<"] {
        let long = format!("x{}", unit.repeat(30_000 / unit.len()));
        assert_eq!(stream(&[&long], false).0, long);
        let pieces: Vec<&str> = long.split_inclusive(['<', 'a']).collect();
        assert_eq!(stream(&pieces, false).0, long);
    }
}

proptest! {
    /// The pieces in which a reply arrives do not change its parts, and nothing but marks and blanks is lost.
    #[test]
    fn thoughts_pieces_do_not_change_parts(
        words in proptest::collection::vec(prop_oneof![
            Just("<think>"), Just("</think>"), Just("\n"), Just(" "), Just("a"), Just("天"), Just("`"), Just("```"),
            Just("\""), Just("<|channel|>analysis<|message|>"), Just("<|end|>"), Just("<|start|>assistant"),
            Just("<|channel|>final<|message|>"), Just("[THINK]"), Just("[/THINK]"), Just("<"), Just("b. "),
            Just("\n</think>\n"), Just(": "), Just(","), Just("\u{200b}"), Just("        "),
        ], 0..24),
        cuts in proptest::collection::vec(1..5_usize, 1..40),
        is_cut in any::<bool>(),
    ) {
        let reply = words.concat();
        let letters: Vec<char> = reply.chars().collect();
        let (mut pieces, mut at) = (Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            if at >= letters.len() {
                break;
            }
            let end = (at + cut).min(letters.len());
            pieces.push(letters[at..end].iter().collect::<String>());
            at = end;
        }
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let (text, thoughts) = stream(&[&reply], is_cut);
        prop_assert_eq!(stream(&pieces, is_cut), (text.clone(), thoughts.clone()));
        let count = |text: &str| text.matches(['a', '天', 'b']).count();
        let in_marks = reply.matches("<|channel|>analysis").count() * 2 + reply.matches("<|start|>assistant").count() * 2
            + reply.matches("<|channel|>final").count();
        prop_assert!(count(&text) + count(&thoughts) <= count(&reply));
        prop_assert!(count(&text) + count(&thoughts) + in_marks * 2 >= count(&reply) || in_marks > 0);
    }
}
