//! Titles of imported sessions. A name that a program made is replaced by what a person would say.

use clotho_compat::interop::chat_title::technical_prefix;
use clotho_core::clock::Time;
use clotho_core::letters::fold_base_letters;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// In which language dates in titles are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TitleLanguage {
    /// `Anna, 1 May 2024`.
    #[default]
    English,
    /// `Anna，2024年5月1日`.
    Chinese,
}

/// What a title is made of if the name of a chat is technical.
#[derive(Debug, Clone, Copy)]
pub struct TitleParts<'a> {
    /// The characters of the chat, the answering one first.
    pub names: &'a [&'a str],
    /// The date of the first message, if known.
    pub first_message_at: Option<Time>,
    /// The time zone of the reader.
    pub zone: &'a TimeZone,
    pub language: TitleLanguage,
}

/// Returns the name of a chat, or what a person would say instead: the character's name and the date of the first
/// message. A technical name stays if neither is known.
pub fn spoken_title(name: &str, parts: &TitleParts<'_>) -> String {
    let Some(prefix) = technical_prefix(name, parts.names) else { return name.to_owned() };
    let is_prefix =
        |known: &&&str| !known.trim().is_empty() && fold_base_letters(known.trim()) == fold_base_letters(prefix);
    let who = match parts.names.iter().find(is_prefix) {
        Some(known) => known.trim(),
        None if !prefix.is_empty() => prefix,
        None => parts.names.iter().map(|name| name.trim()).find(|name| !name.is_empty()).unwrap_or_default(),
    };
    let date = parts.first_message_at.filter(|time| time.has_date()).and_then(|time| date_text(time, parts));
    match (who, date) {
        ("", None) => name.to_owned(),
        ("", Some(date)) => date,
        (who, None) => who.to_owned(),
        (who, Some(date)) => match parts.language {
            TitleLanguage::English => format!("{who}, {date}"),
            TitleLanguage::Chinese => format!("{who}，{date}"),
        },
    }
}

fn date_text(time: Time, parts: &TitleParts<'_>) -> Option<String> {
    let date = Timestamp::from_millisecond(time.0).ok()?.to_zoned(parts.zone.clone());
    let form = match parts.language {
        TitleLanguage::English => "%-d %B %Y",
        TitleLanguage::Chinese => "%Y年%-m月%-d日",
    };
    Some(date.strftime(form).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 May 2024, 23:30 UTC.
    const MAY: Time = Time(1_714_606_200_000);

    fn title(name: &str, names: &[&str], at: Option<Time>, language: TitleLanguage) -> String {
        spoken_title(name, &TitleParts { names, first_message_at: at, zone: &TimeZone::UTC, language })
    }

    #[test]
    fn technical_name_becomes_name_and_date() {
        let english = TitleLanguage::English;
        assert_eq!(title("anna - 2024-5-1@10h20m", &["Anna"], Some(MAY), english), "Anna, 1 May 2024");
        assert_eq!(title("2024-05-01@10h20m30s", &["Anna"], Some(MAY), english), "Anna, 1 May 2024");
        assert_eq!(title("1714550400", &["", "Ben"], Some(MAY), english), "Ben, 1 May 2024");
        assert_eq!(title("1714550400", &["Anna"], None, english), "Anna");
        assert_eq!(title("1714550400", &[], None, english), "1714550400");
        assert_eq!(title("1714550400", &["安娜"], Some(MAY), TitleLanguage::Chinese), "安娜，2024年5月1日");
        assert_eq!(title("The Ferry", &["Anna"], Some(MAY), english), "The Ferry");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let parts = TitleParts { names: &["Anna"], first_message_at: Some(MAY), zone: &zone, language: english };
        assert_eq!(spoken_title("1714550400", &parts), "Anna, 2 May 2024");
    }
}
