// 故事规则的中文。

/** @type {Record<keyof typeof import("./en-rules.js").default, string>} */
export default {
  "command.rules": "这个故事的插件",
  "storyRules.choice.always": "总是",
  "storyRules.choice.never": "从不",
  "storyRules.choice.placeholder": "占位符处",
  "storyRules.text": "插件计数、掷骰、记事。改动从下一条消息起生效，之前的消息保留当时的插件。",
  "storyRules.none": "没有安装插件。",
  "storyRules.noneHint": "插件要安装在服务器上。",
  "storyRules.asks": "权限",
  "storyRules.notAllowed": "尚未允许",
  "storyRules.without": "没有某项权限时，只有那个功能不可用，其余照常。",
  "storyRules.settings": "设置",
  "storyRules.defaults": "恢复默认",
  "storyRules.range": "{min} 到 {max}。",
  "storyRules.list": "每行一个。",
  "storyRules.missing": "它现在无法在这台服务器上运行。停用并保存，就从故事里移除；它的数值保留。",
  "storyRules.teller": "这个故事由它来写。",
  "storyRules.valuesBy": "更新状态的模型",
  "storyRules.valuesByTeller": "与故事相同的模型",
  "storyRules.valuesByHint": "另一个模型会读每条回复并更新状态，这会消耗额外的词元。失败时回复不受影响。立即生效。",
  "storyRules.kept": "已保存。插件从下一条消息起生效。",
  "storyRules.changed": "这个故事的插件在别处被改过了。",
  "storyRules.again": "重新加载",
  "storyRules.wantsMore": "有插件在这个故事里需要更多权限：{names}。",
  "storyRules.look": "查看",
};
