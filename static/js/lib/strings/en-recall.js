// English for what a story recalls.

export default {
  "command.recall": "Memory",
  "recall.text": "The model sees as much of the story as fits. What no longer does can be found again when it belongs to what was said last.",
  "recall.on": "Recall what was said long ago",
  "recall.onHint": "Only what happened on this timeline. A tenth of what the model reads is kept for it.",
  "recall.documents": "Documents",
  "recall.documentsHint": "Texts of your own, in collections. The story looks through those that are ticked.",
  "recall.count": "{n} document|{n} documents",
  "recall.look": "Look into it",
  "recall.remove": "Destroy this document",
  "recall.new": "A new document",
  "recall.collection": "Collection",
  "recall.content": "Text",
  "recall.add": "Add it",
  "recall.unread": "They could not be read.",
};
