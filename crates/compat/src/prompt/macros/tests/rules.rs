//! Rules of macros that the recorded cases do not cover.

use serde_json::{Map, Value, json};

use super::super::super::PromptTokenLimits;
use super::super::{MacroContext, MacroEngine, MacroHistory, MacroTime};
use super::{check, fill_texts, object, test_context};

/// S0-07: macros of a greeting are expanded, ignoring case; other text stays.
#[test]
fn macros_names_are_filled_unknown_text_stays() {
    check("{{char}} greets {{User}}.", "林 greets Ann.");
    check("<BOT> and <USER> and <p>", "林 and Ann and <p>");
    check("天{{user", "天{{user");
    check("{{personality}}|{{description}}", "|林 keeps a lamp for Ann.");
    check("{{greeting}} {{greeting::1}}{{greeting::7}}{{greeting::-1}}", "Hello, Ann. Again, Ann?");
    check("{{notChar}} {{group}}", "Ann 林");
}

/// Formats 1: unknown macros stay text, with their contents expanded; so do those with wrong arguments.
#[test]
fn macros_unknown_macro_stays_and_is_reported() {
    check("{{unknown::{{user}}::b}} {{user::x}}", "{{unknown::Ann::b}} {{user::x}}");
    check("{{newline::{{user}}}} {{newline::-1}}", "{{newline::Ann}} {{newline::-1}}");
    check("{{unknown}}{{user}}{{/unknown}}{{/if}}", "{{unknown}}Ann{{/unknown}}{{/if}}");
    check("{{setvar::x}} {{setvar}}{{user}}{{/reverse}}", "{{setvar::x}} {{setvar}}Ann{{/reverse}}");
    check("{{original}} {{outlet::{{user}}}}", "{{original}} {{outlet::Ann}}");
    let facts = test_context();
    let mut draw = || 0.5;
    let mut macros = MacroEngine::new(&facts, Map::new(), Map::new(), &mut draw);
    macros.fill("{{nobody::1}} {{nobody}} {{user x}} {{/if}} {{user}}");
    assert_eq!(macros.report.unresolved, ["nobody", "user"]);
}

#[test]
fn macros_original_is_inserted_once() {
    let facts = test_context();
    let mut draw = || 0.5;
    let mut macros = MacroEngine::new(&facts, Map::new(), Map::new(), &mut draw);
    assert_eq!(macros.fill_over("a {{Original}} {{original}}{{charPrompt}}", "b"), "a b Be brief. {{original}}");
    assert_eq!(macros.fill("{{original}}"), "{{original}}", "it holds for one text");
}

/// Formats 1: blocks lose their formatting white space, unless the macro keeps it.
#[test]
fn macros_block_is_last_argument() {
    check("{{setvar x}}\n    One {{user}}\n      two\n{{/setvar}}[{{getvar x}}]", "[One Ann\n  two]");
    check("{{ # setvar x }}\n a \n{{ / setvar }}[{{.x}}]", "[\n a \n]");
    check("{{ reverse }}\n  Hello\n{{ /reverse }}", "olleH");
    check("{{trim}}\n x \n{{/trim}}|", "x|");
    check("{{//}} {{setvar::hp::1}} {{///}}{{.hp}}", "12");
    check("{{setvarkey::list::0}}9{{/setvarkey}}{{getvar::list}}", "[\"9\",2]");
    check("{{IF .hp}}a{{ELSE}}b{{/If}}", "a");
}

/// Formats 1: `{{if .x == 1}}` is a plain text and therefore true; only the chosen branch runs.
#[test]
fn macros_if_else_selects_branch() {
    check("{{if .hp == 1}}a{{else}}b{{/if}}", "a");
    check("{{if {{.hp == 1}}}}a{{else}}b{{/if}}", "b");
    check("{{if !.off}}a{{/if}}{{if !{{.hp}}}}b{{/if}}{{if !personality}}c{{/if}}", "ac");
    check("{{if $gold}}a{{else}}b{{/if}}{{if}}x{{/if}}", "b{{if}}x{{/if}}");
    check("{{if::1::a{{else}}b}}{{if::::a{{else}}b}}", "ab");
    check("{{if off}}a{{else}}{{if on}}b{{/if}}{{/if}}", "b");
    check("{{if no}}a{{else}}b{{/if}}{{if OFF}}c{{/if}}{{if !No}}d{{/if}}", "a");
    check("{{if 1}}a{{else}}{{.hp = 0}}{{/if}}{{.hp}}{{// {{.hp = 0}} }}{{.hp}}", "a1212");
    check("{{.name || {{.hp++}}}}{{.hp}}{{.none ?? {{.hp++}}}}{{.hp}}", "Ash121313");
}

#[test]
fn macros_variable_operators_change_values() {
    let all = "{{$gold = 5}}{{$gold += 2}}{{$gold++}}|{{getglobalvar::gold}}|{{hasglobalvar::gold}}{{deleteglobalvar::gold}}{{$gold ?? none}}";
    check(all, "8|8|truenone");
    check("{{.x ||= a}}{{.x ||= b}}{{.y ??= c}}{{.x}}", "aaca");
    check("{{.name -= 5}}{{.name}}{{.hp -= x}}{{.hp}}{{.hp -= 1}}{{.hp}}", "Ash-51211");
    check("{{.hp > 5}}{{.hp >= 12}}{{.hp < 5}}{{.hp <= 12}}{{.hp != 12}}{{.none == }}", "truetruefalsetruefalsetrue");
    check("{{.name += {{noop}} | b}}{{.name}}", "Ash | b");
    check("{{addvar::fresh::a}}{{addvar::fresh::b}}{{.fresh}}", "ab");
    check("{{addvar::list::x}}{{getvar::list}}{{getvarkey::list::2}}", "[1,2,\"x\"]x");
    check(
        "{{setvarindex::list::0::9}}{{getvarindex::list::0}}{{setglobalvarindex::g::a::1}}{{getglobalvarindex::g::a}}",
        "91",
    );
    check("{{setvar::n::007}}{{getvar::n}}{{setvar::j::{\"a\":{\"b\":1}} }}", "7 }}");
    check("{{getvarkey::name::0}}{{getvarkey::hp::0}}{{getvarkey::none::0}}", "Ash");
    let (told, after) = fill_texts(&json!({"combat": {"hp": 20}}), &["{{getvar::combat.hp}}{{addvar::combat.hp::-5}}"]);
    assert_eq!((told, after), (vec!["20".to_owned()], json!({"combat": {"hp": 15}})));
}

/// `domain.md` 6.4: variables written by one block are visible to later ones.
#[test]
fn macros_variables_are_shared_between_texts() {
    let (told, after) =
        fill_texts(&json!({}), &["{{setvar::mood::grey}}", "{{getvar::mood}}", "{{incvar::n}}{{incvar::n}}"]);
    assert_eq!(told, ["", "grey", "12"]);
    assert_eq!(after, json!({"mood": "grey", "n": 2}));
}

#[test]
fn macros_trim_and_escapes_are_applied_last() {
    check("a\r\n\r\n{{trim}}\n{{trim}}\n\nb", "ab");
    check("\\{\\{trim\\}\\} \\\\{x\\}", "{{trim}} \\{x}");
    // A backslash right before a macro is text, and so is a brace.
    check("\\{{user}} \\{{{user}}\\} {{{user}}}", "\\Ann {Ann} {Ann}");
    check("{{setvar::x::\n{{trim}}\na}}[{{getvar::x}}]", "[a]");
    check("{{space::3}}|{{newline::0}}{{newline}}|{{noop}}", "   |\n|");
}

#[test]
fn macros_history_and_generation_type_are_filled() {
    check(
        "{{lastMessage}} {{lastMessageId}} {{allChatRange}} {{currentSwipeId}}/{{lastSwipeId}}",
        "{{user}} knocks. 3 0-3 2/4",
    );
    let facts = MacroContext {
        history: MacroHistory::default(),
        token_limits: PromptTokenLimits { context: 100, reply: 30 },
        time: MacroTime { ms: 1_741_964_966_000, ..MacroTime::default() },
        generation_type: "swipe".into(),
        model: "m".into(),
        main: "Write as {{char}}.".into(),
        group: vec!["A".into(), "B".into(), "C".into()],
        muted: vec!["C".into()],
        character: "A".into(),
        ..MacroContext::default()
    };
    let mut draw = || 0.5;
    let mut macros = MacroEngine::new(&facts, Map::new(), Map::new(), &mut draw);
    for (text, expected) in [
        ("{{maxPrompt}}/{{maxContext}}/{{maxResponse}} {{lastGenerationType}} {{model}}", "70/100/30 swipe m"),
        ("[{{lastMessageId}}{{allChatRange}}{{lastSwipeId}}] {{idleDuration}}", "[] just now"),
        ("{{systemPrompt}} {{defaultSystemPrompt}}", "Write as A. Write as {{char}}."),
        ("{{notChar}}|{{groupNotMuted}}|{{charIfNotGroup}}", "B|A, B|A, B, C"),
        ("{{time_UTC-3}}|{{time_UTC+2}}|{{time::utc+5}}|{{time::UTC+90}}", "12:09 PM|5:09 PM|8:09 PM|4:39 PM"),
        ("{{weekday}} {{date}} {{timeDiff::{{date}}::2025-03-13}}", "Friday March 14, 2025 in a day"),
        ("{{timeDiff::never::2025-03-13}} {{hasExtension::x}}{{isMobile}}", "Invalid date falsefalse"),
    ] {
        assert_eq!(macros.fill(text), expected, "{text}");
    }
}

/// Picks by position stay the same as long as the text does; other choices are drawn again.
#[test]
fn macros_random_and_pick_use_draw_and_seed() {
    let draws = [0.0, 0.9, 0.5];
    let mut at = 0;
    let mut draw = || {
        at += 1;
        draws[(at - 1) % 3]
    };
    let facts = test_context();
    let mut macros = MacroEngine::new(&facts, object(&Value::Null), Map::new(), &mut draw);
    assert_eq!(macros.fill("{{random::a::b}}{{random::a::b}}{{roll::d6}}{{roll::1d6+x}}"), "ab4");
    let twice = "{{pick::a::b::c}} {{pick::a::b::c}}";
    assert_eq!(macros.fill(twice), macros.fill(twice));
    drop(macros);
    assert_eq!(at, 3, "a pick takes no draw");
}
