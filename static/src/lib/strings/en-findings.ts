// English texts for findings of import reports, by the server's code. A text is used if the finding has all its
// arguments. `.full` has the most, `.bare` none. Others are for one kind or fate.

export default {
  "finding.regex_scripts":
    "One regex script for the prompt. You can turn it off in a story.|{count} regex scripts for the prompt. " +
    "You can turn them off in a story.",
  "finding.regex_display":
    "One regex script for display only. You can turn it off in a story.|{count} regex scripts for display " +
    "only. You can turn them off in a story.",
  "finding.own_script": "It changes the prompt in all stories.",
  "finding.own_display": "It changes the display in all stories.",
  "finding.for_models": "It is used automatically on {models}, in stories without a preset of their own.",
  "finding.for_models.bare": "It is used automatically with its models, in stories without a preset of their own.",
  "finding.own_variables": "Macros read them in all stories.",
  "finding.scripts":
    "One JavaScript script. Card scripts do not run here. A plugin can do the same.|{count} JavaScript " +
    "scripts. Card scripts do not run here. A plugin can do the same.",
  "finding.scripts_jquery":
    "One script uses jQuery. Its page does not exist here.|{count} scripts use jQuery. Their page does not " +
    "exist here.",
  "finding.scripts_load":
    "One script loads code from elsewhere. It is not loaded.|{count} scripts load code from elsewhere. It is " +
    "not loaded.",
  "finding.depth_prompt":
    "One character’s note (depth prompt). It is sent at its depth.|{count} character’s notes (depth prompts). " +
    "They are sent at their depths.",
  "finding.group_greetings": "One group-only greeting.|{count} group-only greetings.",
  "finding.assets": "One image or file. Only the avatar is shown.|{count} images and files. Only the avatar is shown.",
  "finding.lore": "One entry.|{count} entries.",
  "finding.lore_silent":
    "One entry can never be sent ({reason}): {entries}.|{count} entries can never be sent ({reason}): {entries}.",
  "finding.lore_silent.bare": "Some entries can never be sent.",
  "finding.lore_keys_split":
    "One entry had all its keys in one text. They are separate keys now.|{count} entries had all their keys in one text. They are separate keys now.",
  "finding.ejs": "One EJS block, kept as text.|{count} EJS blocks, kept as text.",
  "finding.html_scripts":
    "One script in a text. It is not shown and does not run.|{count} scripts in texts. They are not shown and " +
    "do not run.",
  "finding.rules":
    "It contains the plugin “{plugin}”. Review and install the plugin in the character. It does not run before " +
    "that.",
  "finding.rules.full": "It contains a plugin that cannot be read: {reason}",
  "finding.rules.bare":
    "It contains a plugin. Review and install the plugin in the character. It does not run before that.",
  "finding.start_unread":
    "One text with initial variables cannot be read and is ignored.|{count} texts with initial variables " +
    "cannot be read and are ignored.",
  "finding.mvu":
    "MVU variables in one place. The plugin “MVU variables” handles them.|MVU variables in {count} places. The " +
    "plugin “MVU variables” handles them.",
  "finding.extensions_beside":
    "Its extensions ({bytes} bytes) are too large for the character. They are stored separately and exported " +
    "with it.",
  "finding.extensions_beside.bare":
    "Its extensions are too large for the character. They are stored separately and exported with it.",
  "finding.chunk_sum": "The checksum of the card in the image (chunk “{chunk}”) is wrong. The card is readable anyway.",
  "finding.chunk_sum.bare": "The checksum of the card in the image is wrong. The card is readable anyway.",
  "finding.name_cut": "The name was too long and was shortened. The limit in characters is {most}.",
  "finding.name_cut.bare": "A name was too long and was shortened.",
  "finding.persona_position": "Its description had another position. Here it is always at the top of the prompt.",
  "finding.persona_lorebook": "It names a lorebook. An import of the whole SillyTavern folder links the two.",
  "finding.persona_lorebook.works": "Its lorebook “{name}” is linked to it.",
  "finding.persona_lorebook.kept": "Its lorebook “{name}” is missing. The name is kept.",
  "finding.persona_bound": "It was connected to one character.|It was connected to {count} characters.",
  "finding.persona_default": "It was the default persona. New stories start with it, unless you chose another.",
  "finding.favourite": "It was a favourite, and it is a favourite here.",
  "finding.macros":
    "One kind of macro is not supported and is kept as text: {names}|{count} kinds of macros are not supported " +
    "and are kept as text: {names}",
  "finding.macros.bare":
    "One kind of macro is not supported and is kept as text.|{count} kinds of macros are not supported and are " +
    "kept as text.",
  "finding.asset": "The file “{file}” inside the card was skipped: {reason}",
  "finding.asset.bare": "A file inside the card was skipped.",
  "finding.bad_line":
    "One line cannot be read and was skipped: {reason}|{count} lines cannot be read and were skipped: {reason}",
  "finding.bad_line.bare": "One line cannot be read and was skipped.|{count} lines cannot be read and were skipped.",
  "finding.bad_lines": "One more line cannot be read.|{count} more lines cannot be read.",
  "finding.bad_settings": "The settings cannot be read: {reason}",
  "finding.bad_settings.bare": "The settings cannot be read.",
  "finding.bad_group": "The group file is not valid: {reason}",
  "finding.bad_group.bare": "The group file is not valid.",
  "finding.below_taken_out":
    "One message follows a part that was removed here. It was skipped.|{count} messages follow a part that was " +
    "removed here. They were skipped.",
  "finding.namesake": "Its chats go to the existing character with the same name.",
  "finding.card_missing":
    "Its card is missing, so the character has only a name. Import it again together with the card.",
  "finding.changed_meanwhile": "It changed during the import. Import it again to get everything.",
  "finding.chat_settings":
    "One chat setting is kept but not used here: {keys}|{count} chat settings are kept but not used here: " + "{keys}",
  "finding.chat_settings.bare":
    "One chat setting is kept but not used here.|{count} chat settings are kept but not used here.",
  "finding.deleted_here": "You deleted it here. It is not imported again.",
  "finding.from_trash": "It was in the trash and is back. Delete it after the import if you do not want it.",
  "finding.imported_again": "You deleted it here permanently. It is imported again.",
  "finding.edited_here": "The file has changed, and you edited it here too. Your version is kept.",
  "finding.empty": "It has no messages.",
  "finding.in_trash": "Its story is in the trash. Restore it or delete it permanently, then import again.",
  "finding.messages": "{messages} messages. With all versions, {new} are new.",
  "finding.messages.full": "{messages} messages in {branches} branches. {new} are new.",
  "finding.messages.bare": "Its messages are imported.",
  "finding.no_card": "It contains no card: {reason}",
  "finding.no_card.bare": "It contains no card.",
  "finding.no_name": "It has no name for its messages.",
  "finding.name_of_file": "The card has no name, so it gets the name of its file.",
  "finding.bad_list_items":
    "One entry of “{field}” is not a text and was skipped.|{count} entries of “{field}” are not texts and were skipped.",
  "finding.bad_list_items.bare": "Some entries of a list are not texts and were skipped.",
  "finding.note_depth": "The depth of the character’s note (“{value}”) is not a whole number from 0. {depth} is used.",
  "finding.note_depth.bare": "The depth of the character’s note cannot be read. The default is used.",
  "finding.notes_languages":
    "The creator’s notes are in one language: {languages}.|The creator’s notes are in {count} languages: {languages}.",
  "finding.notes_languages.bare": "The creator’s notes are in several languages.",
  "finding.yaml_values":
    "One value is infinite or occurs twice and was left out: {values}.|{count} values are infinite or occur twice and were left out: {values}.",
  "finding.yaml_values.bare": "Some values are infinite or occur twice and were left out.",
  "finding.more_characters":
    "The file has one more character, which was skipped.|The file has {count} more characters, which were skipped.",
  "finding.card_chat":
    "One message of a chat was skipped, because a card has no chats.|{count} messages of chats were skipped, because a card has no chats.",
  "finding.more_scenarios":
    "It has one more scenario. Its greetings are offered, but the scenario is the first one’s.|It has {count} more scenarios. Their greetings are offered, but the scenario is the first one’s.",
  "finding.lore_values":
    "One value cannot be read, so the default is used: {fields}.|{count} values cannot be read, so the defaults are used: {fields}.",
  "finding.lore_values.bare": "Some values cannot be read, so the defaults are used.",
  "finding.decorators":
    "One decorator became a setting of its entry: {names}.|{count} decorators became settings of their entries: {names}.",
  "finding.decorators.bare": "Decorators became settings of their entries.",
  "finding.decorators_kept": "One decorator does nothing here: {names}.|{count} decorators do nothing here: {names}.",
  "finding.decorators_kept.bare": "Some decorators do nothing here.",
  "finding.lore_folders":
    "One folder was skipped. Its entries are imported.|{count} folders were skipped. Their entries are imported.",
  "finding.start_left_out":
    "One text has initial variables that are infinite or occur twice and were left out: {values}.|{count} texts have initial variables that are infinite or occur twice and were left out: {values}.",
  "finding.start_left_out.bare": "Some initial variables are infinite or occur twice and were left out.",
  "finding.failed_replies":
    "One reply failed in the other program and stays an error.|{count} replies failed in the other program and stay errors.",
  "finding.tool_calls":
    "One tool call is kept beside the text of its reply.|{count} tool calls are kept beside the texts of their replies.",
  "finding.story_document":
    "Its text is in NovelAI’s newer format, which cannot be read. Export it as a text or as a scenario.",
  "finding.lore_fields":
    "One setting is kept, but not used here: {fields}.|{count} settings are kept, but not used here: {fields}.",
  "finding.lore_fields.bare": "Some settings are kept, but not used here.",
  "finding.odd_field": "The field “{field}” is not standard and is kept.",
  "finding.odd_field.bare": "It has a non-standard field, which is kept.",
  "finding.picture": "An image cannot be read: {reason}",
  "finding.picture.bare": "An image cannot be read.",
  "finding.said_twice": "These fields appear twice with different values: {fields}. The values under data are used.",
  "finding.said_twice.bare": "A field appears twice with different values. The value under data is used.",
  "finding.too_many": "“{field}”: {removed} of {total} were skipped. A card has at most {most}, of {bytes} bytes each.",
  "finding.too_many.bare": "There are too many items. The rest was skipped.",
  "finding.too_many_files": "There are too many files. Only {most} were read.",
  "finding.too_many_files.bare": "There are too many files. Only some were read.",
  "finding.unfit": "It is not valid here: {reason}",
  "finding.unfit.bare": "It is not valid here.",
  "finding.unread": "It was not read: {reason}",
  "finding.unread.bare": "One file was not read.|{count} files were not read.",
  "finding.unreadable": "It cannot be read: {reason}",
  "finding.unreadable.bare": "It cannot be read.",
  "finding.variables": "The variables of its messages become the state. Rewinding a message rewinds its variables.",
  "finding.attachments":
    "One image, sound or file is not in the export. A note replaces it.|{count} images, sounds or files are " +
    "not in the export. Notes replace them.",
  "finding.bad_story": "Chat {chat} of the file cannot be read and was skipped: {reason}",
  "finding.bad_story.bare": "A story cannot be read and was skipped.",
  "finding.bad_stories": "One more story cannot be read.|{count} more stories cannot be read.",
  "finding.circle": "Some messages replied to each other in a loop. The loop was cut.",
  "finding.hidden":
    "One message is not part of the chat, such as a tool result. It is excluded from the prompt.|{count} " +
    "messages are not part of the chat, such as tool results. They are excluded from the prompt.",
  "finding.no_text": "One message has no text and was skipped.|{count} messages have no text and were skipped.",
  "finding.not_known": "This type of file cannot be imported.|{count} files have types that cannot be imported.",
  "finding.parent_missing":
    "One message replies to a missing message. It starts at the top.|{count} messages reply to missing " +
    "messages. They start at the top.",
  "finding.same_id":
    "One message has a duplicate ID. Replies go to the first one.|{count} messages have duplicate IDs. Replies " +
    "go to the first one.",
  "finding.stand_in": "There is no card, so a placeholder for the character in chats of {program} was created.",
  "finding.stand_in.bare": "There is no card, so a placeholder character was created.",
  "finding.who_wrote":
    "The file does not name the authors. The first message counts as yours, the rest as the model’s.",
  "finding.book_copied": "The book in the card is a copy of the lorebook “{name}”. That lorebook is used.",
  "finding.book_copied.bare": "The book in the card is a copy of a lorebook. That lorebook is used.",
  "finding.chat_lorebook": "A chat has its own lorebook. If that lorebook is imported, it is linked to the story.",
  "finding.chat_lorebook.works": "The chat’s lorebook “{name}” is linked to the story.",
  "finding.chat_lorebook.kept": "The chat’s lorebook “{name}” is missing. The name is kept.",
  "finding.lore_for_all": "It was a global lorebook. It is linked to all stories.",
  "finding.lore_settings": "The World Info settings (depth, budget, recursion and so on) are imported.",
  "finding.lore_settings_own": "You have your own World Info settings. They are not changed.",
  "finding.connection_profile_model":
    "Its server and its model are not imported. Choose a model in a story, and update the profile.",
  "finding.lorebook": "It keeps its lorebook “{name}”. Differences in the card’s own book are kept too.",
  "finding.lorebook.bare": "It keeps its lorebook. Differences in the card’s own book are kept too.",
  "finding.lorebook_missing": "Its lorebook “{name}” is missing.",
  "finding.lorebook_missing.bare": "Its lorebook is missing.",
  "finding.no_lorebook": "It contains no lorebook: {reason}",
  "finding.no_lorebook.bare": "It contains no lorebook.",
  "finding.no_preset": "It contains no preset: {reason}",
  "finding.no_preset.bare": "It contains no preset.",
  "finding.personas": "The personas cannot be read: {reason}",
  "finding.personas.bare": "The personas cannot be read.",
  "finding.preset": "It is kept completely, but not used yet.",
  "finding.preset.openai":
    "Prompt blocks and samplers. A story uses them for its prompts if you choose this preset for it.",
  "finding.preset.textgen": "Samplers. A story has them once you use them there.",
  "finding.preset.kobold": "Samplers. A story has them once you use them there.",
  "finding.preset.novel": "Samplers. A story has them once you use them there.",
  "finding.preset.instruct": "A template for text completion. It is kept, but not used yet.",
  "finding.preset.context": "A template for text completion. It is kept, but not used yet.",
  "finding.preset.sysprompt": "A system prompt. It is kept, but not sent yet.",
  "finding.preset.reasoning": "A reasoning format. It is kept, but not used yet.",
  "finding.preset.quickReplies": "Buttons that run STscript, which does not run here. A plugin can do the same.",
  "finding.preset.theme": "A theme for another page.",
  "finding.preset.group": "Its members play in its stories here. Turn order and automatic mode are kept, but not used.",
  "finding.secret": "It contains a secret ({fields}). Do not share it.",
  "finding.secret.bare": "It contains a secret such as a key. Do not share it.",
  "finding.left_aside": "One file was not imported: {reason}|{count} files were not imported: {reason}",
  "finding.left_aside.full":
    "One file was not imported: {reason} ({names})|{count} files were not imported: {reason} ({names})",
  "finding.left_aside.bare": "One file was not imported.|{count} files were not imported.",
  "finding.halves": "In one place a broken character was replaced.|In {count} places broken characters were replaced.",
  "finding.bad_session": "The story cannot be imported and was skipped: {reason}",
  "finding.bad_session.bare":
    "A story cannot be imported and was skipped.|{count} stories cannot be imported and were skipped.",
  "finding.session_here":
    "The story already exists here and is not changed.|{count} stories already exist here and are not changed.",
  "finding.lost": "One file listed in the archive is missing.|{entries} files listed in the archive are missing.",
  "finding.lost.bare": "A file listed in the archive is missing.",
  "finding.bad_entry":
    "One entry is not valid and was skipped: {entries}|{count} entries are not valid and were skipped: " + "{entries}",
  "finding.bad_entry.bare": "One entry is not valid and was skipped.|{count} entries are not valid and were skipped.",
  "finding.extra_lorebook": "It also uses the lorebook “{name}”.",
  "finding.extra_lorebook.bare": "It has one additional lorebook.|It has {count} additional lorebooks.",
  "finding.character_note":
    "The character’s author’s note is sent with the author’s note of its stories, if it was turned on.",
  "finding.character_note.works": "Its author’s note is sent with the author’s note of its stories.",
  "finding.character_note.kept": "Its author’s note was turned off. It is kept.",
  "finding.character_note.skipped": "Its author’s note is too large and was skipped. The limit in bytes is {most}.",
  "finding.author_note":
    "A chat has an author’s note. The first one is used.|{count} chats have an author’s note. Each story uses " +
    "the first one.",
  "finding.author_note.works": "Its author’s note is added to the prompts of the story.",
  "finding.author_note.kept": "The story has another author’s note. This one is kept, but not used.",
  "finding.joined": "{count} file became one story.|{count} files became one story.",
  "finding.picture_damaged": "The image is damaged. A blank one is exported: {reason}",
  "finding.picture_damaged.bare": "The image is damaged. A blank one is exported.",
  "finding.card_damaged":
    "The story’s version of the card cannot be read. The current library version is exported: {cards}",
  "finding.card_damaged.bare":
    "The card of a story cannot be read. The current library card is exported.|The cards of {count} stories " +
    "cannot be read. The current library cards are exported.",
  "finding.reason.link": "it is a link, and links are not followed",
  "finding.reason.link_on_disk": "it is a link, and links are not followed. Put the file itself there",
  "finding.reason.not_a_file": "it is not a file, but a pipe, a socket or a device",
  "finding.reason.outside_of_archive": "its path points outside of the archive",
  "finding.reason.same_name": "another file has the same name",
  "finding.reason.encrypted": "it is encrypted",
  "finding.reason.compression_ratio": "its compression ratio is too high for a text",
  "finding.reason.compression_method": "its compression method is not supported",
  "finding.reason.archive_damaged": "the archive is damaged, and this file is not where its directory says",
  "finding.reason.too_many_files": "it has more files than one import reads",
  "finding.reason.too_deep_in_folders": "it is too deep inside other folders",
  "finding.reason.too_deep_in_archives": "it is too deep inside other archives",
  "finding.reason.not_a_picture": "it is not an image that can be shown",
  "finding.reason.not_a_regex": "it is not a regular expression",
  "finding.reason.second_header": "the file has a second header. The messages after it are imported too",
  "finding.reason.no_card_folder": "not in the folder of a card",
  "finding.reason.other_type": "of another type",
  "finding.reason.outside_of_folder": "outside of the imported folder",
  "finding.reason.no_keys": "no keys, and neither constant nor vectorized",
  "finding.reason.no_secondary_keys": "blank secondary keys",
  "finding.reason.zero_probability": "a probability of 0",
  "finding.reason.recursion_only": "waiting for recursion and excluded from it",
  "finding.reason.no_position": "an unknown position",
  "finding.reason.no_outlet": "for an outlet without a name",
  "finding.reason.empty_file": "the file is empty. Export it again in the program that it comes from",
  "finding.reason.expressions": "expression images and other files, which are not used here",
  "finding.reason.backgrounds": "background images, which are not used here",
  "finding.reason.backups": "backups of chats, which are read from their own folder",
  "finding.reason.thumbnails": "thumbnails, which are made again here",
  "finding.reason.vectors": "a vector index, which is made again here",
  "finding.reason.extensions": "extensions of another program, which do not run here",
  "finding.reason.panel_layout": "the panel layout of another page",
  "finding.reason.api_keys": "API keys. Enter them here yourself",
  "finding.reason.statistics": "statistics of the other program",
  "finding.reason.uploads": "uploaded or generated files",
  "finding.reason.only_personas":
    "from a single settings file, only personas are imported. Name the data folder for the rest",
  "finding.reason.not_of_sillytavern":
    "this is not a file of SillyTavern. “clotho import” can import it alone if its type is supported",
};
