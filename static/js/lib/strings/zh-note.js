// 作者注释的中文。

/** @type {Record<keyof typeof import("./en-note.js").default, string>} */
export default {
  "command.note": "作者注释",
  "note.text": "你想告诉模型的话：故事往哪里走，用什么口吻。它随提示一起发送，不是消息。清空即不再使用。",
  "note.content": "注释",
  "note.place": "放在哪里",
  "note.place.inChat": "最后几条消息之间",
  "note.place.afterMain": "指令之后",
  "note.place.beforeMain": "指令之前",
  "note.depth": "它后面的消息数",
  "note.depthHint": "0 为最末尾。越靠近末尾，作用越大。",
  "note.role": "由谁来说",
  "note.role.system": "系统",
  "note.role.user": "你",
  "note.role.assistant": "角色",
  "note.every": "你每发 n 条消息发送一次（n）",
  "note.everyHint": "1：每次都发。0：不发送，但保留在这里。",
  "note.lore": "世界书也在其中查找关键词",
};
