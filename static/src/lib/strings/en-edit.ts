// English texts for rearranging a story: selecting, moving, copying, summaries, merges, and values across branches.

export default {
  "command.spent": "Usage",
  "command.keepLore": "Save as lorebook entry",
  "command.choose": "Select messages",
  "command.move": "Move, with everything after it",
  "command.copyTo": "Copy, with everything after it",
  "command.placeHere": "Place below this message",
  "command.elsewhere": "In another story…",
  "command.moveCancel": "Cancel move",
  "command.toStash": "Move to stash",
  "command.summarise": "Summarise up to here",
  "command.merge": "Merge",
  "command.plot": "Variable chart",
  "command.purge": "Delete permanently",

  "moving.text": "Choose the message to place it below:",
  "moving.copy": "Choose the message to place the copy below:",
  "moving.gone": "The message to move is no longer in the story.",
  "reason.in_stash": "That message is in the stash. Put it back first.",
  "reason.nothing_to_merge": "Nothing to merge. This branch already has everything.",
  "reason.empty": "Enter a word to search for. So far there are only excluded words.",
  "command.copyCancel": "Cancel copy",
  "stash.copyBelow": "Put a copy below a message…",
  "stories.text": "Choose a story. Then choose the message to place the copy below.",
  "stories.none": "There is no other story.",
  "stories.choose": "Choose",

  "chosen.text": "One message is selected.|{n} messages are selected.",
  "chosen.pick": "Select",
  "chosen.between": "Select all in between",
  "chosen.leaveOut": "Exclude from prompt",
  "chosen.putBack": "Include in prompt",
  "chosen.mute": "Ignore their state changes",
  "chosen.unmute": "Apply their state changes",
  "chosen.summarise": "Summarise",
  "chosen.copy": "Copy text",

  "run.first": "From",
  "run.last": "To",

  "speaker.summary": "Summary",
  "speaker.merge": "Merge",

  "summarise.title": "Summarise",
  "summarise.text":
    "The summary replaces these messages in the prompt. The messages and their state changes stay. Undo removes " +
    "the summary.",
  "summarise.older": "Show older messages",
  "summarise.draft": "Generate summary",
  "summarise.take": "Save summary",

  "summary.fold": "One message, summarised|{n} messages, summarised",

  "merge.text": "Everything on that branch since the split is added at the tip of your branch. Both branches are kept.",
  "merge.what": "What to merge",
  "merge.messages": "Messages and state changes",
  "merge.messagesHint": "Copies are added at the tip of your branch.",
  "merge.alone": "State changes only",
  "merge.aloneHint": "The messages are not copied.",
  "merge.conflicts":
    "Conflict: both branches changed one value. Choose one.|Conflicts: both branches changed {n} values. Choose " +
    "for each.",
  "merge.ours": "This branch:",
  "merge.theirs": "Other branch:",
  "merge.own": "Another value",
  "merge.ownValue": "Another value of {name}",
  "merge.byHand": "manually",
  "merge.hidden": "A hidden value",
  "merge.take": "Merge",

  "provenance.summary": "It summarises one message above it.|It summarises {n} messages above it.",
  "provenance.run": "Merged from another branch.",
  "provenance.merge": "It happened on another branch first.",
  "provenance.copy": "Copied from elsewhere in this story.",
  "provenance.copyFrom": "Copied from another story.",
  "provenance.go": "Show the original",

  "plot.lines": "Branches",
  "plot.here": "Current position",
  "plot.turn": "Turn {n}",
  "plot.turnHead": "Turn",
  "plot.hint": "Point at a turn to see its values. Drag to zoom in.",
  "plot.whole": "All turns",
  "plot.table": "Show as table",
  "plot.about": "Branch {n}: from {from} to {to}",

  "command.import": "Import story",
  "import.drop": "Drop here to import the story.",
  "import.list": "Story imports",
  "import.sending": "uploading",
  "import.waiting": "in the queue",
  "import.reading": "reading",
  "import.failed": "not imported",
  "import.broken": "The file has an error in line {line}.",
  "import.line": "Found in line {line}.",
  "import.flaw.other_format": "This is not a story file.",
  "import.flaw.other_version": "This file is from another version of Clotho.",
  "import.flaw.breaks_off": "The end of the file is missing. Export the story again.",
  "import.flaw.changed": "The file was changed after the export. Export the story again.",
  "import.flaw.too_large": "The file is too large for this server.",
  "import.nothing": "Nothing was imported.",

  "arranged.world": "One value of the state has changed:|{n} values of the state have changed:",
  "arranged.worldThere": "In the new place one value differs:|In the new place {n} values differ:",
  "arranged.refused":
    "The plugins of this story rejected one of its state changes:|The plugins of this story rejected {n} of its " +
    "state changes:",
  "arranged.affected":
    "One other branch starts before the last of these messages. They are no longer sent there either.|{n} other " +
    "branches start before the last of these messages. They are no longer sent there either.",

  "notice.imported": "“{name}” is imported.",
  "notice.duplicated": "“{name}” is duplicated with all branches.",
  "notice.importedBeside":
    "“{name}” is imported. Another story has the same name. The list shows when each was started.",
  "notice.neither":
    "Rewound to this message. A later summary replaced {n} message here. Neither is in the prompt now.|Rewound to " +
    "this message. A later summary replaced {n} messages here. Neither is in the prompt now.",
  "notice.open": "Open",
  "notice.marked": "Applied to all of them.",
  "notice.moved": "Moved, with everything after it.",
  "notice.copiedTo": "Copied, with everything after it.",
  "notice.summarised": "The summary is saved.",
  "notice.merged": "The branch is merged.",

  "purge.nodes":
    "{n} message will be deleted from the story, the search and the disk.|{n} messages will be deleted from the " +
    "story, the search and the disk.",
  "purge.branches": "{n} branch ends in it.|{n} branches end in them.",
  "purge.kept":
    "{n} part that was removed before stays in the stash.|{n} parts that were removed before stay in the stash.",
  "purge.forGood": "You cannot restore it. Undo cannot go back past this step.",
  "purge.beyond":
    "Not deleted: backups, exported files, copies and summaries elsewhere, and the text that the model server " +
    "received.",
  "purge.meant": "Yes, delete permanently.",
  "notice.purged": "Deleted permanently.",
};
