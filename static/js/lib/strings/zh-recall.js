// 故事想起什么的中文。

/** @type {Record<keyof typeof import("./en-recall.js").default, string>} */
export default {
  "command.recall": "记忆",
  "recall.text": "模型只能看到装得下的那部分故事。装不下的，与最后说的话有关时，可以再找回来。",
  "recall.on": "想起很久以前说过的话",
  "recall.onHint": "只有这条时间线上发生过的事。模型所读的内容会留出十分之一给它。",
  "recall.documents": "文档",
  "recall.documentsHint": "你自己的文字，放在各个合集里。故事会查看勾选的合集。",
  "recall.count": "{n} 篇文档",
  "recall.look": "看看里面",
  "recall.remove": "彻底销毁这篇文档",
  "recall.new": "新文档",
  "recall.collection": "合集",
  "recall.content": "文字",
  "recall.add": "添加",
  "recall.unread": "没能读取。",
};
