// 作者注释的中文。

export default {
  "command.note": "作者注释",
  "note.text": "这个故事给模型的指示。它加入提示词，不是消息。留空就不发送。",
  "note.content": "注释",
  "note.place": "位置",
  "note.place.inChat": "在聊天中，按深度",
  "note.place.afterMain": "主提示词之后",
  "note.place.beforeMain": "主提示词之前",
  "note.depth": "深度",
  "note.depthHint": "它后面的消息数。0 为提示词末尾。",
  "note.role": "身份",
  "note.role.system": "系统",
  "note.role.user": "用户",
  "note.role.assistant": "助手",
  "note.every": "插入频率",
  "note.everyHint": "1：你每发一条消息都发送。2：每两条一次。0：不发送。",
  "note.lore": "允许世界书扫描",
} satisfies Record<keyof typeof import("./en-note.ts").default, string>;
