// English texts for the author's note.

export default {
  "command.note": "Author's note",
  "note.text":
    "Instructions to the model for this story. They are added to the prompt and are not a message. Leave it empty " +
    "to send none.",
  "note.content": "Note",
  "note.place": "Position",
  "note.place.inChat": "In chat, at depth",
  "note.place.afterMain": "After the main prompt",
  "note.place.beforeMain": "Before the main prompt",
  "note.depth": "Depth",
  "note.depthHint": "The number of messages after it. 0 is the end of the prompt.",
  "note.role": "Role",
  "note.role.system": "System",
  "note.role.user": "User",
  "note.role.assistant": "Assistant",
  "note.every": "Insertion frequency",
  "note.everyHint": "1: with every message of yours. 2: with every second one. 0: never.",
  "note.lore": "Allow World Info scanning",
};
