// English for the author's note.

export default {
  "command.note": "Author's note",
  "note.text": "What you tell the model about this story: where it goes, how it sounds. It goes with the prompts and is no message. Empty it to have none.",
  "note.content": "Note",
  "note.place": "Where it stands",
  "note.place.inChat": "Between the last messages",
  "note.place.afterMain": "Behind the instructions",
  "note.place.beforeMain": "Before the instructions",
  "note.depth": "Messages behind it",
  "note.depthHint": "0 is the very end. The nearer the end, the more it weighs.",
  "note.role": "Who says it",
  "note.role.system": "The system",
  "note.role.user": "You",
  "note.role.assistant": "The character",
  "note.every": "With every nth message of yours (n)",
  "note.everyHint": "1: always. 0: never, but it stays here.",
  "note.lore": "Lorebooks look for their keys in it",
};
