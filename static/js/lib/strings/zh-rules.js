// 故事规则的中文。

/** @type {Record<keyof typeof import("./en-rules.js").default, string>} */
export default {
  "command.rules": "这个故事的规则",
  "storyRules.choice.always": "总是",
  "storyRules.choice.never": "从不",
  "storyRules.choice.placeholder": "占位符处",
  "storyRules.text": "规则在故事旁边计数、掷骰、记事。这里的改动从下一条消息起生效；之前的内容保留当时的规则。",
  "storyRules.none": "这里没有规则。",
  "storyRules.noneHint": "没有插件的服务器也就没有规则。",
  "storyRules.asks": "它请求允许它",
  "storyRules.notAllowed": "尚未允许",
  "storyRules.without": "不允许的它就做不了，其余部分照常。",
  "storyRules.settings": "设置",
  "storyRules.defaults": "恢复插件的默认值",
  "storyRules.range": "{min} 到 {max}。",
  "storyRules.list": "每行一个。",
  "storyRules.missing": "它现在无法在这台服务器上运行。关掉并保存，它就离开这个故事；它的数值会留下。",
  "storyRules.teller": "这个故事由它来讲。",
  "storyRules.valuesBy": "由谁记录数值",
  "storyRules.valuesByTeller": "讲故事的模型",
  "storyRules.valuesByHint": "每条回复之后再问另一个模型它改变了什么：这是单独的一次调用，会消耗额外的 token。失败时回复不受影响。立即生效。",
  "storyRules.kept": "规则从下一条消息起生效。",
  "storyRules.changed": "这个故事的规则在别处被改过了。",
  "storyRules.again": "看看现在的样子",
  "storyRules.wantsMore": "有规则请求的权限超出了这个故事所允许的：{names}。",
  "storyRules.look": "看看",
};
