// 连接配置的中文。

export default {
  "command.profile": "连接配置",
  "profile.none": "无",
  "profile.text": "包括模型、预设、生成设置，以及用于总结和状态的模型。选择后从下一条回复起用于这个故事。",
  "profile.changed": "选择之后，这个故事或连接配置有过改动。点击“更新”可把故事的设置存入连接配置。",
  "profile.saveAs": "另存为连接配置",
  "profile.update": "更新",
  "profile.rename": "重命名",
  "profile.remove": "删除",
  "profile.name": "连接配置的名称",
  "profile.taken": "已有同名的连接配置。",
  "profile.delete": "删除连接配置“{name}”？故事的设置不变。",
  "profile.chosen": "连接配置：{name}",
  "profile.unknown": "没有名为“{name}”的连接配置。",
  "profile.known": "现有：{names}。",
  "profile.noneYet": "还没有保存过连接配置。",
};
