// 故事生成设置的中文。

export default {
  "command.generation": "生成设置",
  "generation.text": "只用于这个故事。留空时使用预设的值，预设也没有时使用模型服务器的值。",
  "generation.preset": "来自预设",
  "generation.max_tokens": "回复长度（Token）",
  "generation.temperature": "温度",
  "generation.top_p": "Top P",
  "generation.top_k": "Top K",
  "generation.min_p": "Min P",
  "generation.top_a": "Top A",
  "generation.typical_p": "Typical P",
  "generation.repetition_penalty": "重复惩罚",
  "generation.frequency_penalty": "频率惩罚",
  "generation.presence_penalty": "存在惩罚",
  "generation.seed": "种子",
  "generation.stop": "停止字符串",
  "generation.stopHint": "每行一个。其中的换行写作 \\n。",
  "generation.others": "附加参数",
  "generation.othersHint": '模型服务器的 JSON 对象，例如 {"dry_multiplier": 0.8}。',
  "generation.malformed": "附加参数不是 JSON 对象。",
};
