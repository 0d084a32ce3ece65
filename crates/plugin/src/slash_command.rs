//! Slash commands: `/roll 2d6` at the beginning of a message.

/// A slash command as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand<'a> {
    /// The word after the slash.
    pub word: &'a str,
    /// The rest of the text, trimmed.
    pub args: &'a str,
}

impl<'a> SlashCommand<'a> {
    /// Parses the command at the start of a message, if any. A full-width slash counts too, because Chinese keyboards
    /// type it.
    pub fn parse(text: &'a str) -> Option<Self> {
        let rest = text.trim().strip_prefix(['/', '／'])?;
        let (word, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        is_word(word).then(|| Self { word, args: args.trim() })
    }
}

/// Returns whether a text is a command word: 1 to 32 letters of any writing system, digits, `-` or `_`.
pub(super) fn is_word(text: &str) -> bool {
    let known = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().count() <= 32 && text.chars().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slash_command_is_parsed_only_at_message_start() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            assert_eq!(SlashCommand::parse(text).map(|typed| (typed.word, typed.args)), expected, "{text}");
        };
        check("/roll 2d6 + 3 ", Some(("roll", "2d6 + 3")));
        check(" ／喝药", Some(("喝药", "")));
        check("/me\nwaves", Some(("me", "waves")));
        check("go /roll", None);
        check("/", None);
        check("//x", None);
        check("/a/b", None);
    }
}
