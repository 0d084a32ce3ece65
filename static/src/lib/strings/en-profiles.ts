// English texts for connection profiles.

export default {
  "command.profile": "Connection profile",
  "profile.none": "None",
  "profile.text":
    "The model, the preset, the generation settings, and the models for summaries and for the state. A choice applies to this story from the next reply on.",
  "profile.changed":
    "This story has been changed since, or the profile has. Choose Update to save the story's settings in the profile.",
  "profile.saveAs": "Save as profile",
  "profile.update": "Update",
  "profile.rename": "Rename",
  "profile.remove": "Delete",
  "profile.name": "Name of the profile",
  "profile.taken": "Another profile has this name.",
  "profile.delete": "Delete the profile “{name}”? Stories keep their settings.",
  "profile.chosen": "Connection profile: {name}",
  "profile.unknown": "There is no connection profile “{name}”.",
  "profile.known": "There are: {names}.",
  "profile.noneYet": "No profile is saved yet.",
};
