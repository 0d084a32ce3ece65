// English texts for the generation settings of a story.

export default {
  "command.generation": "Generation settings",
  "generation.text": "For this story only. An empty field has the value of the preset, or else of the model server.",
  "generation.preset": "From preset",
  "generation.max_tokens": "Response length (tokens)",
  "generation.temperature": "Temperature",
  "generation.top_p": "Top P",
  "generation.top_k": "Top K",
  "generation.min_p": "Min P",
  "generation.top_a": "Top A",
  "generation.typical_p": "Typical P",
  "generation.repetition_penalty": "Repetition penalty",
  "generation.frequency_penalty": "Frequency penalty",
  "generation.presence_penalty": "Presence penalty",
  "generation.seed": "Seed",
  "generation.stop": "Stop strings",
  "generation.stopHint": "One a line. Write a line break inside one as \\n.",
  "generation.others": "Additional parameters",
  "generation.othersHint": 'A JSON object in the words of the model server, such as {"dry_multiplier": 0.8}.',
  "generation.malformed": "The additional parameters are not a JSON object.",
};
