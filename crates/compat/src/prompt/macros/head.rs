//! Parses the start of a macro: braces, flags, name and argument style. `{{ #setvar :: x :: y }}`, `{{roll 1d6}}`,
//! `{{// a comment}}`, `{{.hp += 5}}`, and the legacy `<USER>`.

/// How a macro takes its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentStyle {
    /// No arguments inside the braces.
    None,
    /// One argument after a blank or a single colon; it may contain colons.
    One,
    /// Arguments after `::`, separated by `::`.
    List,
}

/// The kind of a macro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacroKind {
    /// A macro of the table.
    Named,
    /// A variable.
    Variable {
        /// Whether it is shared by all sessions.
        is_global: bool,
        /// `None` = the variable is read.
        operator: Option<&'static str>,
    },
}

/// The parsed start of a macro.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacroHead {
    /// Name of the macro or variable, as written.
    pub name: String,
    pub kind: MacroKind,
    /// Whether it closes a block: `{{/if}}`.
    pub is_closing: bool,
    /// Whether its block keeps white space at the ends: `{{#setvar::x}}`.
    pub keeps_blanks: bool,
    pub style: ArgumentStyle,
    /// Byte offset where the arguments begin.
    pub end: usize,
}

/// Name of a comment macro.
pub const COMMENT: &str = "//";
/// Legacy macro for the time in another zone: `{{time_UTC+2}}`.
const LEGACY_TIME_UTC: &str = "time_utc";
/// Flags before a name. SillyTavern accepts `!`, `?`, `~` and `>` too, and they do nothing there either.
const FLAGS: [char; 6] = ['!', '?', '~', '>', '#', '/'];
/// Operators on variables; of those with a common prefix the longer one comes first.
const OPERATORS: [&str; 16] =
    ["??=", "||=", "==", "!=", ">=", "<=", "+=", "-=", "++", "--", "||", "??", "=", ">", "<", ""];
/// Legacy spellings and the macros they mean.
const LEGACY_NAMES: [(&str, &str); 5] = [
    ("<user>", "user"),
    ("<bot>", "char"),
    ("<char>", "char"),
    ("<group>", "group"),
    ("<charifnotgroup>", "charIfNotGroup"),
];

/// Parses the macro whose first brace is at `at`; `None` if the braces start no macro.
pub fn read(text: &str, at: usize) -> Option<MacroHead> {
    let mut rest = text.get(at..)?.strip_prefix("{{")?.trim_start();
    let (mut is_closing, mut keeps_blanks) = (false, false);
    while !is_comment(rest)
        && let Some(flag) = rest.chars().next().filter(|c| FLAGS.contains(c))
    {
        is_closing |= flag == '/';
        keeps_blanks |= flag == '#';
        rest = rest.get(1..)?.trim_start();
    }
    let (name, kind, style, rest) = match rest.chars().next()? {
        '.' | '$' => read_variable(rest)?,
        _ => read_name(rest)?,
    };
    Some(MacroHead { name, kind, is_closing, keeps_blanks, style, end: text.len() - rest.len() })
}

/// Parses a legacy name that begins at `at`.
pub fn read_legacy_name(text: &str, at: usize) -> Option<MacroHead> {
    let rest = text.get(at..)?;
    let begins = |word: &str| rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    let (word, name) = LEGACY_NAMES.into_iter().find(|(word, _)| begins(word))?;
    let name = name.to_owned();
    let end = at + word.len();
    Some(MacroHead {
        name,
        kind: MacroKind::Named,
        is_closing: false,
        keeps_blanks: false,
        style: ArgumentStyle::None,
        end,
    })
}

/// Returns whether a comment begins; three slashes end one.
fn is_comment(rest: &str) -> bool {
    rest.starts_with(COMMENT) && !rest.starts_with("///")
}

type HeadParts<'a> = (String, MacroKind, ArgumentStyle, &'a str);

fn read_name(text: &str) -> Option<HeadParts<'_>> {
    if let Some(rest) = text.strip_prefix(COMMENT) {
        let style = if rest.trim_start().starts_with("}}") { ArgumentStyle::None } else { ArgumentStyle::One };
        return Some((COMMENT.to_owned(), MacroKind::Named, style, rest));
    }
    let (name, rest) = text.split_at(name_length(text)?);
    let (style, rest) = argument_style(rest)?;
    Some((name.to_owned(), MacroKind::Named, style, rest))
}

/// Returns the length of a name: a letter, then letters, digits, `_` and `-`. A UTC offset counts as part of the name.
fn name_length(text: &str) -> Option<usize> {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.chars().next().filter(char::is_ascii_alphabetic)?;
    let end = text.find(|c| !is_inside(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.eq_ignore_ascii_case(LEGACY_TIME_UTC)
        && let Some(offset) = rest.strip_prefix('+')
    {
        let digits = offset.find(|c: char| !c.is_ascii_digit()).unwrap_or(offset.len());
        return Some(end + 1 + digits);
    }
    Some(end)
}

/// Parses the separator after a name. `None` if the name is followed by anything else.
fn argument_style(rest: &str) -> Option<(ArgumentStyle, &str)> {
    let behind = rest.trim_start();
    if let Some(list) = behind.strip_prefix("::") {
        Some((ArgumentStyle::List, list))
    } else if let Some(one) = behind.strip_prefix(':') {
        Some((ArgumentStyle::One, one))
    } else if behind.starts_with("}}") {
        Some((ArgumentStyle::None, behind))
    } else {
        (behind.len() < rest.len() && !behind.is_empty()).then_some((ArgumentStyle::One, behind))
    }
}

/// Parses a variable's name and operator; `None` if the name is invalid.
fn read_variable(text: &str) -> Option<HeadParts<'_>> {
    let (mark, rest) = text.split_at_checked(1)?;
    rest.chars().next().filter(char::is_ascii_alphabetic)?;
    let is_inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let end = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
    let name = rest.get(..end)?.trim_end_matches(['_', '-']);
    let behind = rest.get(name.len()..)?.trim_start();
    let operator = OPERATORS.into_iter().find(|operator| behind.starts_with(operator))?;
    let value = behind.get(operator.len()..)?;
    let style = if matches!(operator, "" | "++" | "--") { ArgumentStyle::None } else { ArgumentStyle::One };
    if style == ArgumentStyle::None && !value.trim_start().starts_with("}}") {
        return None;
    }
    let value = if style == ArgumentStyle::None { value.trim_start() } else { value };
    let operator = Some(operator).filter(|operator| !operator.is_empty());
    Some((name.to_owned(), MacroKind::Variable { is_global: mark == "$", operator }, style, value))
}

/// Parses a text that is only a variable name, such as `.hp` or `$gold`. Returns whether it is global, and the name.
pub fn bare_variable(text: &str) -> Option<(bool, &str)> {
    let (mark, name) = text.split_at_checked(1)?;
    let is_name = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && !name.ends_with(['_', '-']);
    (is_name && matches!(mark, "." | "$")).then_some((mark == "$", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_head(text: &str) -> Option<(String, ArgumentStyle, String)> {
        let head = read(text, 0)?;
        let flags = format!("{}{}", if head.is_closing { "/" } else { "" }, if head.keeps_blanks { "#" } else { "" });
        let name = match head.kind {
            MacroKind::Named => format!("{flags}{}", head.name),
            MacroKind::Variable { is_global, operator } => {
                format!("{}{}{}", if is_global { "$" } else { "." }, head.name, operator.unwrap_or(""))
            }
        };
        Some((name, head.style, text.get(head.end..)?.to_owned()))
    }

    #[test]
    fn macro_head_names_flags_and_arguments_are_read() {
        for (text, expected) in [
            ("{{user}}", Some(("user", ArgumentStyle::None, "}}"))),
            ("{{ user }}", Some(("user", ArgumentStyle::None, "}}"))),
            ("{{!?user}}", Some(("user", ArgumentStyle::None, "}}"))),
            ("{{ / if }}", Some(("/if", ArgumentStyle::None, "}}"))),
            ("{{# setvar :: x}}", Some(("#setvar", ArgumentStyle::List, " x}}"))),
            ("{{roll 1d6}}", Some(("roll", ArgumentStyle::One, "1d6}}"))),
            ("{{roll:1d6}}", Some(("roll", ArgumentStyle::One, "1d6}}"))),
            ("{{time_UTC+12}}", Some(("time_UTC+12", ArgumentStyle::None, "}}"))),
            ("{{time_UTC-3}}", Some(("time_UTC-3", ArgumentStyle::None, "}}"))),
            ("{{// x}}", Some(("//", ArgumentStyle::One, " x}}"))),
            ("{{//}}", Some(("//", ArgumentStyle::None, "}}"))),
            ("{{ /// }}", Some(("///", ArgumentStyle::None, " }}"))),
            ("{{ user!}}", None),
            ("{{}}", None),
            ("{{user", None),
            ("{{user ", None),
            ("{{1}}", None),
        ] {
            let told = describe_head(text);
            assert_eq!(told.as_ref().map(|(n, s, e)| (n.as_str(), *s, e.as_str())), expected, "{text}");
        }
    }

    #[test]
    fn macro_head_variable_operators_are_read() {
        for (text, expected) in [
            ("{{.hp}}", Some((".hp", ArgumentStyle::None, "}}"))),
            ("{{ $gold ++ }}", Some(("$gold++", ArgumentStyle::None, "}}"))),
            ("{{.hp--}}", Some((".hp--", ArgumentStyle::None, "}}"))),
            ("{{.my-var = 1}}", Some((".my-var=", ArgumentStyle::One, " 1}}"))),
            ("{{.a ??= b}}", Some((".a??=", ArgumentStyle::One, " b}}"))),
            ("{{.a>=b}}", Some((".a>=", ArgumentStyle::One, "b}}"))),
            ("{{.a b}}", None),
            ("{{.1}}", None),
            ("{{$}}", None),
            ("{{.a++b}}", None),
        ] {
            let told = describe_head(text);
            assert_eq!(told.as_ref().map(|(n, s, e)| (n.as_str(), *s, e.as_str())), expected, "{text}");
        }
        assert_eq!(bare_variable(".hp"), Some((false, "hp")));
        assert_eq!(bare_variable("$a-b"), Some((true, "a-b")));
        assert!([".hp == 12", "hp", ".", ".a-", ".灯", ""].iter().all(|text| bare_variable(text).is_none()));
    }
}
