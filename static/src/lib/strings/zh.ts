// 全部中文：首页的文字在这里，其余的来自其他文件。
import cardVersions from "./zh-card-versions.ts";
import cards from "./zh-cards.ts";
import devices from "./zh-devices.ts";
import edit from "./zh-edit.ts";
import findings from "./zh-findings.ts";
import history from "./zh-history.ts";
import generation from "./zh-generation.ts";
import lore from "./zh-lore.ts";
import note from "./zh-note.ts";
import loreOptions from "./zh-lore-options.ts";
import loreSettings from "./zh-lore-settings.ts";
import remoteImages from "./zh-remote-images.ts";
import overview from "./zh-overview.ts";
import presetEdit from "./zh-preset-edit.ts";
import presets from "./zh-presets.ts";
import problems from "./zh-problems.ts";
import recall from "./zh-recall.ts";
import requestedSettings from "./zh-requested-settings.ts";
import profiles from "./zh-profiles.ts";
import plugins from "./zh-plugins.ts";
import scriptErrors from "./zh-script-errors.ts";
import settings from "./zh-settings.ts";

import characterList from "./zh-character-list.ts";
import sessionList from "./zh-session-list.ts";
import usage from "./zh-usage.ts";
import story from "./zh-story.ts";
import trace from "./zh-trace.ts";
import workshop from "./zh-workshop.ts";
import type { Key } from "./keys.d.ts";

export default {
  ...cards,
  ...devices,
  ...edit,
  ...findings,
  ...history,
  ...cardVersions,
  ...generation,
  ...lore,
  ...note,
  ...loreOptions,
  ...loreSettings,
  ...remoteImages,
  ...overview,
  ...presetEdit,
  ...presets,
  ...problems,
  ...recall,
  ...requestedSettings,
  ...profiles,
  ...plugins,
  ...scriptErrors,
  ...settings,
  ...characterList,
  ...sessionList,
  ...usage,
  ...story,
  ...trace,
  ...workshop,
  title: "Clotho",
  menu: "菜单",
  panes: "面板",
  notices: "通知",
  loading: "加载中…",
  offline: "连接已断开，正在重连。你写的内容不会丢失。",
  "offline.keptPage": "服务器没有回应。这是{when}的页面。在这里打开过的故事还可以读。",
  "page.nowhere": "这个地址上没有内容。这里是你的故事。",
  "offline.kept": "服务器没有回应。这是{when}的故事。你写的内容会保留。",
  close: "关闭",
  cancel: "取消",
  save: "保存",
  retry: "重试",
  yes: "是",
  no: "否",
  you: "你",
  narrator: "旁白",

  "door.needless": "这台设备不需要配对。请在要配对的设备上打开这个链接。",
  "outside.from": "来自 {host} 的图片",
  "outside.named": "来自 {host} 的图片：{alt}",
  "command.speech": "为对话上色",
  "theme.auto": "跟随系统",
  "theme.light": "浅色",
  "theme.dark": "深色",
  "pane.chat": "故事",

  "command.library": "故事集",
  "command.search": "搜索所有故事",
  "command.palette": "命令与快捷键",
  "command.git": "Git 术语",
  "command.settings": "设置",
  "command.theme": "切换浅色与深色",
  "command.language": "Switch to English",
  "command.world": "显示或隐藏状态",
  "command.model": "更换模型",
  "command.rename": "重命名故事",
  "command.delete": "删除故事",
  "command.trash": "回收站",
  "command.restore": "恢复",
  "command.export": "导出故事",
  "command.previous": "上一条备选回复",
  "command.next": "下一条备选回复",
  "command.goBack": "回退到这里",
  "command.follow": "跳到这条分支的末尾",
  "command.reroll": "重新生成",
  "command.answer": "生成回复",
  "command.edit": "编辑",
  "command.copy": "复制",
  "command.stop": "停止生成",
  "command.why": "提示词查看器",
  "command.dismiss": "关闭通知",

  "welcome.title": "每条消息，都是一个存档点。",
  "welcome.lead": "开始一段故事。走错了就回退：体力、物品和伙伴都回到那一刻。两条分支都会保留。",
  "welcome.play": "开始冒险",
  "welcome.playHint": "约 15 分钟，不需要模型，也不需要 API 密钥。",

  "library.continue": "继续",
  "library.new": "新故事",
  "library.or": "角色",
  "library.create": "新建角色",
  "library.createHint": "名字、描述和开场白。",
  "library.reader": "你",
  "library.more": "显示更早的故事",
  "library.manage": "管理《{name}》",
  "library.favourite": "收藏：{name}",
  "library.deleteCharacter": "删除角色",
  "library.turns": "{n} 回合",
  "library.begun": "开始于 {when}",
  "library.branches": "{n} 条分支",

  "models.title": "连接模型",
  "models.short": "Claude、Gemini、OpenRouter、AI Horde、Ollama、KoboldCpp、llama.cpp，或任何兼容 OpenAI 的服务。",
  "models.have": "已连接 {n} 个模型。",
  "models.none": "还没有连接模型。冒险不需要模型，角色需要模型。",
  "models.connect": "连接模型",
  "models.howSmall":
    "没有模型？Clotho 文件夹里的 scripts/local-model.sh 会下载一个很小的模型（150 MB，英文），并在本机运行。",
  "models.problem": "无法列出模型：",
  "models.tools.words": "文本工具调用",
  "models.tools.none": "无工具调用",
  "models.again": "重新加载列表",
  "message.failed": "回复失败。",

  "world.title": "状态",
  "world.refused": "这个故事的插件拒绝了这个值。",

  "search.short": "搜索",

  "notice.copied": "已复制。",
  "notice.wentBack": "已回退到这条消息，状态也一起回退了。",
  "notice.headMoved": "故事在别处有了新内容，现在已更新。你的消息还在输入框里。",
  "notice.writing": "回复还没写完。你写的内容还在输入框里。",
  "notice.finishedElsewhere": "{name}在另一条分支上写完了一条回复。",
  "notice.show": "查看",
  "notice.settled": "故事现在从这里继续。原来的分支还保留着。",
  "notice.return": "回到原来的分支",
  "gone.text": "故事里没有这条消息。",
  "gone.hint": "它在暂存区里，或已被撤销，或已被永久删除。",
  "notice.trashed": "“{name}”已移到回收站。",

  "fileFault.empty_file": "文件是空的。",
  "fileFault.cut_picture": "图片不完整，请重新下载。",
  "error.offline": "服务器没有回应。",
  "error.offlineHint": "请检查 Clotho 是否在运行。你写的内容已保留。",
  "error.unknown": "没有成功（{status}）。",
  "error.incident": "日志编号：{id}。",

  "notice.oneLine": "这个故事现在只显示一条分支。显示所有分支后才能这样做。",
  "command.tree": "显示所有分支",
  "hint.goBack": "这次掷得不好。回退可以撤销这一回合，重新生成会换新的骰子。两条分支都会保留。",
  "hint.again": "你回到了这一回合之前。可以换个做法，也可以回到原来分支的末尾。",
  "hint.timelines": "两条分支都在。用消息下方的箭头 ‹ 1/2 › 切换。",
  "peek.back": "回到故事",
  "peek.settle": "切换到这条分支",
  "typed.text": "你写的内容还没有保存。",
  "typed.drop": "丢弃",
  "typed.keep": "继续编辑",
  "message.go": "跳到这条消息",
  "message.plain": "内容太复杂，无法排版，以上是原文。",
} satisfies Record<Key, string>;

/** 服务器只说英文：按代码换成中文。没有列出的，照服务器的原话。 */
export const servers: Record<string, string> = {
  "failureHint.provider_refused": "检查 config.toml：密钥对不对，账户有没有余额，模型名和 base_url 写得对不对。",
  "failureHint.provider_timeout": "重试；如果总是这样，检查 base_url，或调高 [generation] 里的时限。",
  "failureHint.provider_misconfigured": "改正 config.toml 里这个模型的设置，或换一个模型。",
  "failure.internal": "Clotho 在写这条回复时出错了。",
  "failureHint.internal": "可以重试；原因写在服务器的日志里。",

  "refusal.malformed": "服务器读不懂这个请求。",
  "refusalHint.malformed": "重新载入页面再试。",
  "refusal.invalid": "有一项填得不对。",
  "refusalHint.invalid": "改一改，再试一次。",
  "refusal.invalid_file": "服务器读不了这个文件。",
  "refusalHint.invalid_file": "重新下载或导出这个文件，再试一次。",
  "refusal.unauthenticated": "还没有登录。",
  "refusalHint.unauthenticated": "先登录，再试一次。",
  "refusal.forbidden": "服务器不允许这样做。",
  "refusalHint.forbidden": "请向管理这台服务器的人询问。",
  "refusal.bad_host": "不能用这个地址打开 Clotho。",
  "refusalHint.bad_host": "用它自己的地址打开，或在 config.toml 的 allowed_hosts 里加上这个名字。",
  "refusal.not_found": "这里没有它。",
  "refusalHint.not_found": "它可能已被删除。",
  "refusal.conflict": "情况已经变了，没有做成。",
  "refusalHint.conflict": "看看现在的样子，再决定。",
  "refusal.name_taken": "另一条消息已经叫这个名字了。",
  "refusalHint.name_taken": "换一个名字，或先把它从那条消息上取下来。",
  "refusal.cycle": "不能放到它自己的后文下面。",
  "refusalHint.cycle": "选一条不在它后面的消息。",
  "refusal.head_moved": "故事在别处有了进展。",
  "refusalHint.head_moved": "看看新的消息，再发送一次。",
  "refusal.generating": "这条回复还在写。",
  "refusalHint.generating": "等它写完，或停止它。",
  "refusal.gone_purged": "它已被永久删除。",
  "refusalHint.gone_purged": "无法恢复，只剩下编号。",
  "refusal.too_large": "内容太长了。",
  "refusalHint.too_large": "一次少写一些。",
  "refusal.rate_limited": "请求太频繁了。",
  "refusalHint.rate_limited": "等一会儿再试。",
  "refusal.too_many_generating": "同时在写的回复太多了。",
  "refusalHint.too_many_generating": "等一条写完，或停止一条。",
  "refusal.provider_failed": "模型服务器出错了。",
  "refusalHint.provider_failed": "重试，或换一个模型。",
  "refusalHint.input_refused": "改一改这条消息，再发送。",
  "refusal.unavailable": "服务器现在忙不过来。",
  "refusalHint.unavailable": "过一会儿再试。",
  "refusal.provider_timeout": "模型服务器太久没有回应。",
  "refusalHint.provider_timeout": "重试，或换一个更快的模型。",
  "refusal.storage_full": "服务器的磁盘满了。",
  "refusalHint.storage_full": "在服务器上腾出一些空间；什么都没有改动。",
  "refusal.internal": "服务器内部出错了。",
  "refusalHint.internal": "用日志编号可以在服务器的日志里找到原因。",
};
