// 角色文件、角色编辑与导入报告的中文。

/** @type {Record<keyof typeof import("./en-cards.js").default, string>} */
export default {
  "command.importCard": "读入角色卡",
  "notice.cameIn": "{name} 读进来了。",
  "notice.play": "开始玩",

  "character.edit": "修改这个角色",
  "character.take.png": "存成图片卡（PNG）",
  "character.take.json": "存成 JSON",
  "character.take.charx": "存成 CHARX",
  "character.personality": "性格",
  "character.scenario": "故事发生在哪里",
  "character.exampleMessages": "对话示例",
  "character.systemPrompt": "给模型的指示",
  "character.postHistoryInstructions": "给模型的最后一句话",
  "character.creatorNotes": "给人看的说明",
  "character.tags": "标签",
  "character.tagsHint": "用逗号隔开。",
  "character.more": "给模型的话与说明",
  "character.picture": "图片：PNG、JPEG、WebP 或 GIF",
  "character.greetings": "其他开场",
  "character.greeting": "开场 {n}",
  "character.addGreeting": "再加一个开场",
  "character.dropGreeting": "去掉开场 {n}",

  "report.open": "带来了什么",
  "report.title": "带来了什么",
  "report.nothing": "全部读进来了，都能用。",
  "report.copy": "复制报告",
  "report.line": "第 {line} 行：",
  "report.works": "能用",
  "report.translated": "已转换",
  "report.kept": "保留，在这里不起作用",
  "report.skipped": "没有读入",
};

/** 服务器报告里的话，按代码。 */
export const findings = {
  "finding.regex_scripts": "{n} 个正则脚本：暂时不会改动任何文字",
  "finding.scripts": "{n} 个 JavaScript 脚本：这里的角色卡不运行代码，插件可以做到同样的事",
  "finding.scripts_jquery": "其中 {n} 个脚本调用 jQuery：它们要改的网页不在这里",
  "finding.scripts_load": "其中 {n} 个脚本从别处加载代码：什么都不会加载",
  "finding.depth_prompt": "一条插在对话某一深度的提示：暂时不会发送",
  "finding.group_greetings": "{n} 个只用于群聊的开场",
  "finding.assets": "{n} 个图片与文件：只显示头像",
  "finding.lore": "{n} 个条目：暂时都不会触发",
  "finding.ejs": "{n} 段 EJS：当作文字保留",
  "finding.html_scripts": "文字里有 {n} 段脚本：不显示，也不运行",
  "finding.mvu": "{n} 处 MVU 式的变量：插件的 mvu 函数能读这样的回复",
  "finding.extensions_beside": "扩展内容太大，单独保存，导出时带走",
  "finding.chunk_sum": "图片里角色数据的校验和不对，但内容读得出来",
  "finding.name_cut": "名字太长，截短了",
  "finding.persona_position": "它的描述原来放在别处，在这里总是放在开头",
  "finding.persona_lorebook": "它的世界书只留下名字，在这里不起作用",
  "finding.macros": "{n} 种宏不会替换，当作文字保留",
};
