//! Reasons that findings of imports give. A sentence has their description, an argument their name.

use std::fmt;

use serde_json::Value;

macro_rules! finding_reasons {
    ($($(#[$about:meta])* $variant:ident $word:literal $description:literal,)*) => {
        /// Why a file or a part of it was not imported.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FindingReason {
            $($(#[$about])* $variant,)*
        }

        impl FindingReason {
            /// The name of each reason, which the page translates.
            pub const NAMES: &'static [&'static str] = &[$($word),*];

            /// Returns the stable name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $description,)*
                }
            }
        }
    };
}

finding_reasons! {
    /// A link in an archive.
    Link "link" "it is a link, and links are not followed",
    /// A link in a folder.
    LinkOnDisk "link_on_disk" "it is a link, and links are not followed: put the file itself there",
    /// A pipe, a socket or a device.
    NotAFile "not_a_file" "it is not a file: it is a pipe, a socket or a device",
    /// The path leads out of the archive.
    OutsideOfArchive "outside_of_archive" "its path points outside of the archive",
    /// The archive has two files of this name.
    SameName "same_name" "another file has the same name",
    /// The entry needs a password.
    Encrypted "encrypted" "it is encrypted",
    /// The entry would get too large when it is unpacked.
    CompressionRatio "compression_ratio" "its compression ratio is too high for a text",
    /// The entry is compressed with an unknown method.
    CompressionMethod "compression_method" "its compression method is not supported",
    /// The entry is not where the directory says.
    ArchiveDamaged "archive_damaged" "the archive is damaged: this file is not where the archive's directory says",
    /// The folder has too many files.
    TooManyFiles "too_many_files" "it has more files than one import reads",
    /// The folder is nested too deep.
    TooDeepInFolders "too_deep_in_folders" "it is too deep inside other folders",
    /// The archive is nested too deep.
    TooDeepInArchives "too_deep_in_archives" "it is too deep inside other archives",
    /// The bytes are no known picture.
    NotAPicture "not_a_picture" "it is not an image that can be shown",
    /// The entry is not a regex script.
    NotARegex "not_a_regex" "it is not a regular expression",
    /// A chat has more than one header.
    SecondHeader "second_header" "the file has a second header: the messages after it are imported too",
    /// The chat lies beside the folders of cards.
    NoCardFolder "no_card_folder" "not in the folder of a card",
    /// The folder is not for files of this type.
    OtherType "other_type" "of another type",
    /// The file lies beside the folder that is imported.
    OutsideOfFolder "outside_of_folder" "outside of the imported folder",
    /// A lorebook entry without keys.
    NoKeys "no_keys" "no keys, and neither constant nor vectorized",
    /// A lorebook entry that waits for secondary keys.
    NoSecondaryKeys "no_secondary_keys" "blank secondary keys",
    /// A lorebook entry of chance.
    ZeroProbability "zero_probability" "a probability of 0",
    /// A lorebook entry that waits for recursion.
    RecursionOnly "recursion_only" "waiting for recursion and excluded from it",
    /// A lorebook entry without a place.
    NoPosition "no_position" "an unknown position",
    /// A lorebook entry for an outlet.
    NoOutlet "no_outlet" "for an outlet without a name",
    /// The file has no bytes.
    EmptyFile "empty_file" "the file is empty: export it again in the program that it comes from",
    /// The pictures of a character's moods.
    Expressions "expressions" "expression images and other files, which are not used here",
    /// The folder `backgrounds`.
    Backgrounds "backgrounds" "background images, which are not used here",
    /// The folder `backups`.
    Backups "backups" "backups of chats, which are read from their own folder",
    /// The folder `thumbnails`.
    Thumbnails "thumbnails" "thumbnails, which are made again here",
    /// The folder `vectors`.
    Vectors "vectors" "a vector index, which is made again here",
    /// The folder `extensions`.
    Extensions "extensions" "extensions of another program, which do not run here",
    /// The folder `movingUI`.
    PanelLayout "panel_layout" "the panel layout of another page",
    /// The file `secrets.json`.
    ApiKeys "api_keys" "API keys: enter them here yourself",
    /// Files with statistics and logs.
    Statistics "statistics" "statistics of the other program",
    /// The folders of uploaded and generated files.
    Uploads "uploads" "uploaded or generated files",
    /// A settings file that was sent alone.
    OnlyPersonas "only_personas"
        "from a single settings file, only personas are imported: name the data folder for the rest",
    /// A file that does not belong to SillyTavern.
    NotOfSillyTavern "not_of_sillytavern"
        "not imported: this is not a file of SillyTavern; `clotho import` can import it alone if its type is supported",
}

impl fmt::Display for FindingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description())
    }
}

impl From<FindingReason> for Value {
    fn from(reason: FindingReason) -> Self {
        reason.as_str().into()
    }
}
