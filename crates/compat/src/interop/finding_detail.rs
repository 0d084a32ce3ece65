//! What findings of imports say: every code with its arguments and its sentence. To add a finding, add a variant, and
//! texts for its code in both languages of the page. A test compares them.

use clotho_core::coded_messages;

use super::finding_reason::FindingReason;

coded_messages! {
    /// One feature of a file, or one problem with it. The argument `count` is the number of occurrences. Variants with
    /// one code say the same in other words.
    pub enum FindingDetail {
        // Regex scripts and presets.
        /// Scripts that change prompts.
        #[error(
            "{} for the prompt: you can turn them off in a session",
            count_phrase(*count, "regex script", "regex scripts")
        )]
        PromptScripts { count: usize } = "regex_scripts",
        /// Scripts that change the display.
        #[error(
            "{} for display only: you can turn them off in a session",
            count_phrase(*count, "regex script", "regex scripts")
        )]
        DisplayScripts { count: usize } = "regex_display",
        /// A script for the prompts of all sessions.
        #[error("a regex script: it changes the prompt of every session")]
        OwnPromptScript {} = "own_script",
        /// A script for the display of all sessions.
        #[error("a regex script: it changes what is shown in every session")]
        OwnDisplayScript {} = "own_display",
        /// Global variables.
        #[error("global variables: macros read them in every session")]
        OwnVariables {} = "own_variables",
        /// A preset that does not work fully here.
        #[error("{}", preset_meaning(kind))]
        UnsupportedPreset { kind: String } = "preset",
        /// A preset with models of its own.
        #[error("it makes the prompts of all sessions on {models} that have no preset of their own")]
        PresetModels { models: String } = "for_models",
        /// A preset with secrets.
        #[error("it contains a secret ({fields}): do not share this preset")]
        PresetSecrets { count: usize, fields: String } = "secret",
        /// A file without a preset.
        #[error("{reason}")]
        NoPreset { reason: String } = "no_preset",
        /// An entry of the settings that is no regex script.
        #[error("{reason}")]
        NoRegexScript { reason: FindingReason } = "no_preset",

        // Cards.
        /// A file without a card.
        #[error("{reason}")]
        NoCard { reason: String } = "no_card",
        /// A note for a fixed depth.
        #[error("a character's note (depth prompt): it is sent at its depth")]
        DepthPrompt {} = "depth_prompt",
        /// Scripts of a card, which never run.
        #[error(
            "{} in JavaScript: card scripts do not run here, a plugin can do the same",
            count_phrase(*count, "script", "scripts")
        )]
        CardScripts { count: usize } = "scripts",
        /// Scripts that change a page.
        #[error(
            "{} jQuery: the page that they change does not exist here",
            count_phrase(*count, "script uses", "scripts use")
        )]
        JqueryScripts { count: usize } = "scripts_jquery",
        /// Scripts that load code.
        #[error("{} code from elsewhere: nothing is loaded", count_phrase(*count, "script loads", "scripts load"))]
        LoadingScripts { count: usize } = "scripts_load",
        /// Greetings for groups.
        #[error("{} for groups only", count_phrase(*count, "greeting", "greetings"))]
        GroupGreetings { count: usize } = "group_greetings",
        /// Images and files that are not shown.
        #[error("{}: only the avatar is shown", count_phrase(*count, "image or file", "images and files"))]
        CardAssets { count: usize } = "assets",
        /// EJS templates.
        #[error("{}: kept as text", count_phrase(*count, "EJS block", "EJS blocks"))]
        EjsBlocks { count: usize } = "ejs",
        /// Scripts inside texts.
        #[error("{} in texts: not shown, and never run", count_phrase(*count, "script", "scripts"))]
        HtmlScripts { count: usize } = "html_scripts",
        /// Variables of MVU.
        #[error("{} with MVU variables: the plugin mvu handles them", count_phrase(*count, "place", "places"))]
        MvuVariables { count: usize } = "mvu",
        /// Macros that are not supported.
        #[error("{} not supported, kept as text: {names}", count_phrase(*count, "macro is", "macros are"))]
        UnsupportedMacros { count: usize, names: String } = "macros",
        /// A file of an archive that is left out.
        #[error("the file \"{file}\": {reason}")]
        SkippedAsset { file: String, reason: FindingReason } = "asset",
        /// A file of an archive that cannot be read.
        #[error("the file \"{file}\": {reason}")]
        UnreadableAsset { file: String, reason: String } = "asset",
        /// A PNG chunk with a wrong checksum.
        #[error("the checksum of the chunk \"{chunk}\" is wrong; its card is readable")]
        ChunkChecksum { chunk: String } = "chunk_sum",
        /// A card whose image cannot be read.
        #[error("the image of the card: {reason}")]
        CardPicture { reason: String } = "picture",
        /// A card whose image has an unknown format.
        #[error("the image of the card: {reason}")]
        UnknownCardPicture { reason: FindingReason } = "picture",
        /// A name that was cut.
        #[error("the name had more than {most} characters and was cut")]
        NameCut { most: usize } = "name_cut",
        /// A name that the card does not have.
        #[error("the card has no name, so it gets the name of its file")]
        NameOfFile {} = "name_of_file",
        /// Entries of a list that are no texts.
        #[error("{} of {field} {} no text", count_phrase(*count, "entry", "entries"), if *count == 1 { "is" } else { "are" })]
        UnreadableListItems { count: usize, field: String } = "bad_list_items",
        /// The depth of a character's note.
        #[error("the depth of the character's note, \"{value}\", is no whole number from 0: {depth} is used")]
        NoteDepth { value: String, depth: u64 } = "note_depth",
        /// Notes of the creator in several languages.
        #[error("notes of the creator in {}: {languages}", count_phrase(*count, "language", "languages"))]
        MultilingualNotes { count: usize, languages: String } = "notes_languages",
        /// Values of a YAML card that were left out.
        #[error("{} left out: {values}", count_phrase(*count, "value is", "values are"))]
        OmittedYamlValues { count: usize, values: String } = "yaml_values",
        /// Further characters in the file of a card.
        #[error(
            "{} skipped: only the first one of the file is imported",
            count_phrase(*count, "more character is", "more characters are")
        )]
        MoreCharacters { count: usize } = "more_characters",
        /// A chat in the file of a card.
        #[error("{} skipped: a card has no chats", count_phrase(*count, "message of a chat is", "messages of chats are"))]
        CardChat { count: usize } = "card_chat",
        /// Further scenarios of a card.
        #[error(
            "{} kept: their greetings are offered, but the scenario is the first one's",
            count_phrase(*count, "more scenario is", "more scenarios are")
        )]
        MoreScenarios { count: usize } = "more_scenarios",
        /// Fields with two values.
        #[error("the card has two different values for {fields}: the one in \"data\" is used")]
        FieldsTwice { count: usize, fields: String } = "said_twice",
        /// A field of another type.
        #[error("\"{field}\" has a type that cards do not use")]
        UnusualField { field: String } = "odd_field",
        /// A list with more entries than fit.
        #[error("{removed} of {total} {field}: a card has at most {most}, of {bytes} bytes each")]
        TooManyEntries { field: &'static str, removed: usize, total: usize, most: usize, bytes: usize } = "too_many",
        /// A plugin inside the card.
        #[error(
            "it contains the plugin \"{plugin}\": it does not run before the owner of the server reviews and installs it"
        )]
        EmbeddedPlugin { plugin: String } = "rules",
        /// A plugin inside the card that cannot be read.
        #[error("{reason}")]
        UnreadablePlugin { reason: String } = "rules",
        /// Extensions that are too large for the character.
        #[error("its extensions ({bytes} bytes) are stored separately and appear only in an export")]
        LargeExtensions { bytes: usize } = "extensions_beside",
        /// A mark of the other program.
        #[error("it was a favourite, and is a favourite here too")]
        Favourite {} = "favourite",
        /// The author's note of a character, which is sent.
        #[error("its note is sent with the author's note of its sessions")]
        CharacterNote {} = "character_note",
        /// The author's note of a character, which was turned off.
        #[error("its note was turned off: it is kept")]
        CharacterNoteOff {} = "character_note",
        /// The author's note of a character, which is too long.
        #[error("its note has more than {most} bytes")]
        CharacterNoteTooLong { most: usize } = "character_note",
        /// A chat without a card.
        #[error("its card is missing, so the character has only a name: import it again together with the card")]
        CardMissing {} = "card_missing",
        /// A character that exists already.
        #[error("its chats go to the existing character with the same name")]
        Namesake {} = "namesake",
        /// A character made for the chats of a program.
        #[error("a placeholder for the character in chats of {program}, without a card")]
        PlaceholderCharacter { program: &'static str } = "stand_in",
        /// A picture that cannot be exported.
        #[error("its image is damaged, so a blank one is exported: {reason}")]
        DamagedPicture { reason: String } = "picture_damaged",
        /// Cards of a session that cannot be exported as the session has them.
        #[error("the session's version of the card cannot be read: the current library version of {cards} is exported")]
        DamagedCards { count: usize, cards: String } = "card_damaged",

        // Personas.
        /// A file without personas.
        #[error("{reason}")]
        NoPersonas { reason: String } = "personas",
        /// A persona without a name.
        #[error("it has no name for its messages")]
        NoPersonaName {} = "no_name",
        /// An image that cannot be read.
        #[error("its image: {reason}")]
        PersonaPicture { reason: String } = "picture",
        /// A description at another position.
        #[error("its description had another position; here it is always at the top of the prompt")]
        PersonaPosition {} = "persona_position",
        /// The lorebook of a persona that was imported alone.
        #[error("the name of its lorebook is kept, but not used here")]
        PersonaLorebookName {} = "persona_lorebook",
        /// The lorebook of a persona, which was imported too.
        #[error("the lorebook \"{name}\" of it is in the library and linked to it")]
        PersonaLorebook { name: String } = "persona_lorebook",
        /// The lorebook of a persona, which is missing.
        #[error("the lorebook \"{name}\" of it is missing; its name is kept")]
        PersonaLorebookMissing { name: String } = "persona_lorebook",
        /// Cards that a persona was bound to.
        #[error(
            "it was connected to {}: in an import of the whole folder, their chats and new sessions with them use it",
            count_phrase(*count, "character", "characters")
        )]
        PersonaBound { count: usize } = "persona_bound",
        /// The default persona.
        #[error("it was the default persona: new sessions start with it, unless another one was chosen here")]
        DefaultPersona {} = "persona_default",

        // Lorebooks.
        /// A file without a lorebook.
        #[error("{reason}")]
        NoLorebook { reason: String } = "no_lorebook",
        /// The entries of a lorebook.
        #[error("{}", count_phrase(*count, "entry", "entries"))]
        LoreEntries { count: usize } = "lore",
        /// Entries whose keys were one text.
        #[error("{} all keys in one text, which was split", count_phrase(*count, "entry had", "entries had"))]
        SplitLoreKeys { count: usize } = "lore_keys_split",
        /// Entries that were left out.
        #[error("{}", invalid_entries(*count, entries))]
        InvalidEntries { count: usize, entries: String } = "bad_entry",
        /// Entries that can never be sent.
        #[error("{} never sent ({reason}): {entries}", count_phrase(*count, "entry is", "entries are"))]
        SilentEntries { count: usize, reason: FindingReason, entries: String } = "lore_silent",
        /// Fields of entries with values that cannot be read.
        #[error("{} cannot be read, so the default is used: {fields}", count_phrase(*count, "value", "values"))]
        UnreadableLoreFields { count: usize, fields: String } = "lore_values",
        /// Decorators of version 3 that became fields.
        #[error("{} became settings of their entries: {names}", count_phrase(*count, "decorator", "decorators"))]
        AppliedDecorators { count: usize, names: String } = "decorators",
        /// Decorators of version 3 without effect.
        #[error("{} nothing here: {names}", count_phrase(*count, "decorator does", "decorators do"))]
        IgnoredDecorators { count: usize, names: String } = "decorators_kept",
        /// Settings of entries without effect.
        #[error("{} kept, but not used here: {fields}", count_phrase(*count, "setting is", "settings are"))]
        IgnoredLoreFields { count: usize, fields: String } = "lore_fields",
        /// Folders of a lorebook.
        #[error("{} skipped: their entries are imported without them", count_phrase(*count, "folder is", "folders are"))]
        LoreFolders { count: usize } = "lore_folders",
        /// Initial variables that cannot be parsed. The finding names their entries.
        #[error(
            "{} with initial variables: neither YAML nor JSON nor TOML, so they are ignored",
            count_phrase(*count, "text", "texts")
        )]
        UnreadableVariables { count: usize } = "start_unread",
        /// Initial variables that were left out of texts that can be parsed. The finding names their texts.
        #[error(
            "{} with initial variables that are infinite or occur twice, and are left out: {values}",
            count_phrase(*count, "text", "texts")
        )]
        OmittedVariables { count: usize, values: String } = "start_left_out",
        /// A lorebook for all sessions.
        #[error("it was a global lorebook, and is linked to all sessions here")]
        GlobalLorebook {} = "lore_for_all",
        /// The settings for lorebooks.
        #[error("the World Info settings (depth, budget, recursion and so on) are imported")]
        LoreSettings {} = "lore_settings",
        /// The user has settings for lorebooks already.
        #[error("you have your own World Info settings, which stay unchanged")]
        OwnLoreSettings {} = "lore_settings_own",
        /// A connection profile, of which the server and the model are not imported.
        #[error("its server and its model are not imported: choose a model in a story, and update the profile")]
        ConnectionProfileModel {} = "connection_profile_model",
        /// The lorebook of a card.
        #[error("its lorebook is \"{name}\"")]
        CardLorebook { name: String } = "lorebook",
        /// The lorebook of a card that also has a different book inside.
        #[error("its lorebook is \"{name}\", and the different book inside the card is kept too")]
        CardLorebookAndBook { name: String } = "lorebook",
        /// The book inside a card repeats a lorebook.
        #[error("its lorebook is \"{name}\", and the book inside the card is a copy of it")]
        CopiedBook { name: String } = "book_copied",
        /// A further lorebook of a card.
        #[error("it also uses the lorebook \"{name}\"")]
        ExtraLorebook { name: String } = "extra_lorebook",
        /// The lorebook of a card, which is missing.
        #[error("its lorebook \"{name}\" is missing")]
        CardLorebookMissing { name: String } = "lorebook_missing",
        /// A further lorebook of a card, which is missing.
        #[error("its additional lorebook \"{name}\" is missing")]
        ExtraLorebookMissing { name: String } = "lorebook_missing",
        /// The lorebook of a chat.
        #[error("the lorebook \"{name}\" of the chat is in the library and linked to it")]
        ChatLorebook { name: String } = "chat_lorebook",
        /// The lorebook of a chat, which is missing.
        #[error("the lorebook \"{name}\" of the chat is missing; its name is kept")]
        ChatLorebookMissing { name: String } = "chat_lorebook",

        // Chats.
        /// The messages of a chat file.
        #[error("{messages} {}; with all alternatives, {new} are new", if *messages == 1 { "message" } else { "messages" })]
        ChatMessages { messages: u64, new: u64 } = "messages",
        /// The messages of a chat of another program.
        #[error(
            "{} in {}; {new} are new",
            count_phrase(*messages, "message", "messages"),
            count_phrase(*branches, "branch", "branches")
        )]
        BranchMessages { messages: usize, branches: usize, new: u64 } = "messages",
        /// The messages of a session file.
        #[error("{}, with everything that belongs to them", count_phrase(*messages, "message", "messages"))]
        SessionMessages { messages: usize } = "messages",
        /// A chat without messages.
        #[error("it has no messages")]
        NoMessages {} = "empty",
        /// Chat files that became one session.
        #[error("{}", joined_files(*count, files, *more))]
        JoinedFiles { count: usize, files: String, more: usize } = "joined",
        /// Message variables.
        #[error("the variables of its messages become the state, so that they follow each branch")]
        MessageVariables {} = "variables",
        /// Messages below a part that the user removed.
        #[error("{count} messages follow a part that was removed here, and were skipped")]
        BelowRemoved { count: usize } = "below_taken_out",
        /// The author's note of a chat.
        #[error("its author's note is added to the prompts of the session")]
        AuthorsNote {} = "author_note",
        /// The author's note of a chat whose session has another one.
        #[error("the session has another author's note: this one is kept, but not used")]
        OtherAuthorsNote {} = "author_note",
        /// A file that changed while it was read.
        #[error("it changed during the import: import it again to get everything")]
        ChangedMeanwhile {} = "changed_meanwhile",
        /// Settings of a chat without effect.
        #[error("kept, but not used here: {keys}")]
        ChatSettings { count: usize, keys: String } = "chat_settings",
        /// A line that cannot be read.
        #[error("{reason}")]
        UnreadableLine { reason: String } = "bad_line",
        /// A line in the wrong place.
        #[error("{reason}")]
        MisplacedLine { reason: FindingReason } = "bad_line",
        /// Further lines that cannot be read.
        #[error("{count} more lines could not be read")]
        MoreUnreadableLines { count: usize } = "bad_lines",
        /// Halves of characters.
        #[error(
            "{} replaced by U+FFFD, the first one here",
            count_phrase(*count, "broken character was", "broken characters were")
        )]
        LoneSurrogates { count: usize } = "halves",
        /// A chat of a file that cannot be read. Chats count from 1.
        #[error("chat {chat} of the file: {reason}")]
        UnreadableChat { chat: u64, reason: String } = "bad_story",
        /// Further chats of a file that cannot be read.
        #[error("{count} more chats could not be read")]
        MoreUnreadableChats { count: usize } = "bad_stories",
        /// Messages that are not part of the chat.
        #[error(
            "{} excluded from the prompt",
            count_phrase(
                *count,
                "message is not part of the chat, such as a tool result, and is",
                "messages are not part of the chat, such as tool results, and are"
            )
        )]
        HiddenMessages { count: usize } = "hidden",
        /// Replies that failed in the other program.
        #[error("{} an error, as in the other program", count_phrase(*count, "reply failed and stays", "replies failed and stay"))]
        FailedReplies { count: usize } = "failed_replies",
        /// Tool calls of replies.
        #[error("{} kept beside the text of the replies", count_phrase(*count, "tool call is", "tool calls are"))]
        ToolCalls { count: usize } = "tool_calls",
        /// A story in a format that cannot be read.
        #[error("its text is in NovelAI's newer format, which cannot be read: export it as a text or as a scenario")]
        StoryDocument {} = "story_document",
        /// Messages without a text.
        #[error("{} skipped", count_phrase(*count, "message has no text and was", "messages have no text and were"))]
        EmptyMessages { count: usize } = "no_text",
        /// Messages with the id of another one.
        #[error(
            "{} id",
            count_phrase(
                *count,
                "message has a duplicate id: replies go to the first message with this",
                "messages have duplicate ids: replies go to the first message with each"
            )
        )]
        SameIds { count: usize } = "same_id",
        /// Messages that reply to missing ones.
        #[error(
            "{} at the top",
            count_phrase(
                *count,
                "message replies to a missing one: it starts",
                "messages reply to missing ones: they start"
            )
        )]
        MissingParents { count: usize } = "parent_missing",
        /// Messages that reply to each other.
        #[error("{} messages reply to each other in a loop, which was cut", count_phrase(*count, "time", "times"))]
        ReplyLoops { count: usize } = "circle",
        /// A story without authors.
        #[error("the file does not name the authors: the first text counts as yours, the rest as the model's")]
        UnknownAuthors {} = "who_wrote",
        /// Files that the export does not contain.
        #[error(
            "{}",
            count_phrase(
                *count,
                "image, sound or file is not in the export: a note replaces it",
                "images, sounds or files are not in the export: notes replace them"
            )
        )]
        MissingAttachments { count: usize } = "attachments",

        // Sessions and whatever was imported before.
        /// A session file that cannot be imported.
        #[error("{reason}")]
        InvalidSession { reason: String } = "bad_session",
        /// A session that exists already.
        #[error("the session already exists and stays unchanged; a single import of this file makes a copy")]
        SessionExists {} = "session_here",
        /// A session in the trash.
        #[error("its session is in the trash: restore it or delete it permanently, then import again")]
        SessionInTrash {} = "in_trash",
        /// Something that the user deleted.
        #[error("you deleted it here: it is not imported again")]
        DeletedHere {} = "deleted_here",
        /// A character that was in the trash.
        #[error("it was in the trash and is back: delete it after the import if you do not want it")]
        RestoredFromTrash {} = "from_trash",
        /// A character that the user deleted permanently.
        #[error("you deleted it here permanently: it is imported again")]
        ImportedAgain {} = "imported_again",
        /// Something that changed on both sides.
        #[error("it has changed there, but you also edited the {item} here, which stays unchanged")]
        EditedHere { item: &'static str } = "edited_here",

        // Files.
        /// A file of an unknown type.
        #[error("its type is not supported")]
        UnknownType {} = "not_known",
        /// Further files of unknown types.
        #[error("{count} more files have types that are not supported")]
        MoreUnknownTypes { count: usize } = "not_known",
        /// A file or folder that is not read.
        #[error("{reason}")]
        UnreadFile { reason: FindingReason } = "unread",
        /// An archive that is not read.
        #[error("{reason}")]
        UnreadArchive { reason: String } = "unread",
        /// Further entries of an archive that are not read.
        #[error("{count} more entries of the archive are not read")]
        MoreUnreadEntries { count: usize } = "unread",
        /// Entries that an archive promises but does not have.
        #[error(
            "{} of the archive's directory cannot be read: it is damaged, or two have the same name",
            count_phrase(*entries, "entry", "entries")
        )]
        MissingArchiveEntries { entries: usize } = "lost",
        /// A file that cannot be read.
        #[error("it cannot be read: {reason}")]
        UnreadableFile { reason: String } = "unreadable",
        /// Settings that cannot be read.
        #[error("they cannot be read: {reason}")]
        UnreadableSettings { reason: String } = "bad_settings",
        /// A group that cannot be read.
        #[error("the group is not valid: {reason}")]
        InvalidGroup { reason: String } = "bad_group",
        /// A folder with too many files.
        #[error("only {most} of its files are read")]
        TooManyFiles { most: usize } = "too_many_files",
        /// Something that breaks a rule for its kind.
        #[error("{reason}")]
        Invalid { reason: String } = "unfit",
        /// Files of another purpose.
        #[error("not imported, {}: {reason}", count_phrase(*count, "file", "files"))]
        LeftOut { count: usize, reason: FindingReason } = "left_aside",
        /// Files of a folder that has other files.
        #[error("not imported: {} {reason}: {names}", count_phrase(*count, "file", "files"))]
        LeftOutOfFolder { count: usize, reason: FindingReason, names: String } = "left_aside",
        /// Files beside the imported folder.
        #[error(
            "not imported, {}: only {names} is imported, and they are outside of it",
            count_phrase(*count, "file", "files")
        )]
        LeftOutBeside { count: usize, reason: FindingReason, names: String } = "left_aside",
        /// A single file.
        #[error("{reason}")]
        LeftOutFile { reason: FindingReason } = "left_aside",
    }
}

/// Formats a count with its noun: `1 script`, `3 scripts`.
fn count_phrase(n: usize, one: &str, more: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { more })
}

/// Describes a preset that does not work fully here.
fn preset_meaning(kind: &str) -> &'static str {
    match kind {
        "openai" => {
            "prompt blocks and samplers: a session uses them for its prompts once you choose this preset for it"
        }
        "textgen" | "kobold" | "novel" => "samplers: a story has them once you take them over from this preset",
        "instruct" | "context" => "a template for text completion: it is kept, but not used yet",
        "sysprompt" => "a system prompt: it is kept, but not sent yet",
        "reasoning" => "a reasoning format: it is kept, but not used yet",
        "quickReplies" => "buttons that run STscript, which does not run here: a plugin can do the same",
        "theme" => "a theme for another page",
        "group" => "its members play in its sessions here; turn order and automatic mode are kept, but not used",
        _ => "kept as it is",
    }
}

fn invalid_entries(count: usize, entries: &str) -> String {
    match count {
        1 => format!("entry {entries} is not valid and was skipped"),
        _ => format!("{count} of its entries are not valid and were skipped: {entries}"),
    }
}

fn joined_files(count: usize, files: &str, more: usize) -> String {
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{count} files became one session: {files}{more}")
}
