// English texts for what an imported session asks for.

export default {
  "requested.title": "This file brings settings",
  "requested.text":
    "They can cost money, give rights to plugins or change texts. Select only what you want. The story itself is here " +
    "either way.",
  "requested.model": "Model: {name}",
  "requested.valuesModel": "Model for the changes of values: {name}",
  "requested.missing": "This server does not have this model.",
  "requested.params": "Model parameters",
  "requested.preset": "Preset",
  "requested.scripts": "Regex scripts",
  "requested.scriptsOf": "Regex scripts of {name}",
  "requested.scriptsHint": "They change what is shown, and what is sent to the model.",
  "requested.recall": "Recall of messages and documents",
  "requested.recallHint": "Each prompt is searched for with the embedding model.",
  "requested.summaries": "Automatic summaries",
  "requested.summariesHint": "A model writes them while you play.",
  "requested.summariesBy": "Written by {name} while you play.",
  "requested.grants": "Permissions of the plugin {name}",
  "requested.noPlugin": "This server does not have this plugin.",
  "requested.none": "There is nothing to decide.",
  "requested.accept": "Use what is selected",
  "requested.decline": "Use none",
};
