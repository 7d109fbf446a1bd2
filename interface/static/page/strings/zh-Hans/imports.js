import { importStrings as english } from '../en/imports.js';
import { fill } from '../fill.js';
import { number } from './count.js';

const conversations = (n) => `${number(n)} 个对话`;
const messages = (n) => `${number(n)} 条消息`;

function timeLeft(seconds) {
  if (seconds === null) return '';
  return seconds < 60 ? ` · 约剩 ${number(Math.ceil(seconds))} 秒` : ` · 约剩 ${number(Math.ceil(seconds / 60))} 分钟`;
}

function outcome({ imported, updated, skipped, failed }) {
  const parts = [`已导入 ${number(imported)} 个`, updated && `已更新 ${number(updated)} 个`, skipped && `已跳过 ${number(skipped)} 个`, failed && `${number(failed)} 个有问题`];
  return parts.filter(Boolean).join(' · ');
}

export const importStrings = fill(english, {
  title: '带来你的历史记录',
  drop: '将导出的文件拖放到这里',
  choose: '选择文件…',
  cancel: '取消',
  close: '关闭',
  goesOn: '对话保存后会立即出现在侧边栏。你可以随时关闭此窗口：导入会继续进行。',
  list: '导入记录',
  whereFrom: '从哪里获取文件？',
  products: [
    ['ChatGPT', '设置 › 数据管理 › 导出数据。ZIP 文件的链接会通过电子邮件发送。'],
    ['Claude', '设置 › 隐私 › 导出数据。ZIP 文件的链接会通过电子邮件发送。'],
    ['Open WebUI', '设置 › 数据控制 › 导出对话，得到一个 JSON 文件。'],
    ['LibreChat', '分享 › 将对话导出为 JSON，包含所有分支。多个文件可以放进一个 ZIP 文件。'],
    ['zk-chat', '文档库中的 .zk_chat_db/chat_sessions.json 文件。'],
    ['Anaphora', '“下载全部内容”得到的 ZIP 文件；或对话菜单中的“导出”，选择 JSON。'],
    ['最初的实现', '其对话文件夹的 ZIP 文件、含记忆的 pkb.sqlite，或两者打包在一个 ZIP 文件中。'],
    ['笔记', 'Markdown 文件，例如打包成 ZIP 的 Obsidian 文档库：“文档 › 导入”。'],
    ['其他', 'JSON Lines：用户指南中有说明。'],
  ],
  sources: {
    chatgpt: 'ChatGPT', claude: 'Claude', open_webui: 'Open WebUI', librechat: 'LibreChat', zk_chat: 'zk-chat', first_implementation: '最初的实现',
    json_lines: 'JSON Lines', anaphora: 'Anaphora', account: 'Anaphora 全部内容',
  },
  sending: (name) => `正在发送 ${name}…`,
  notTaken: (message) => `文件未被接受。${message}`,
  notKnown: (name) => `“${name}”不是可以导入的文件。请选择以下文件之一：`,
  failed: (message) => `操作没有成功。${message}`,
  progress: (name) => `${name} 的进度`,
  messages,
  vectors: (n) => `已可按文字找到、稍后可按含义找到的消息：${number(n)}`,
  lesson: (name) => `“${name}”写着另一个程序记住的关于你的内容。可以从中提取记忆；在你同意之前不会保存任何内容。`,
  learn: '在其中查找记忆',
  problems: (n) => `${number(n)} 个问题`,
  stays: (n) => `${number(n)} 项保留`,
  workspace: '工作区',
  usualWorkspace: '与文件中相同',
  which: '选择对话',
  all: '全部',
  none: '全不选',
  questions: {
    undo: { title: '撤销这次导入？', text: '它带来的内容会被删除，你继续过的对话除外。' },
    stop: { title: '停止导入？', text: '已保存的内容会保留，之后可以撤销。' },
  },
  actions: {
    start: '导入', cancel: '丢弃', pause: '暂停', resume: '继续', stop: '停止', undo: '撤销导入', report: '下载报告', forget: '从列表中移除',
  },
  states: {
    counting: (given) => `正在读取文件：目前 ${conversations(given.conversations)}，${messages(given.messages)}…`,
    ready: (given) => (given.conversations ? `${conversations(given.conversations)}，共 ${messages(given.messages)}。` : '记忆、文档或设置，没有对话。'),
    running: (given) => `${given.counted ? `${number(given.done)} / ${messages(given.messages)}` : messages(given.done)} · 每秒 ${number(Math.round(given.messages_per_second ?? 0))} 条${timeLeft(given.seconds_left)}`,
    waiting: (given) => `未能保存，将于 ${given.time} 重试。${given.error}`,
    paused: (given) => `已暂停，已处理 ${messages(given.done)}。`,
    done: (given) => `完成：${outcome(given)}。`,
    failed: (given) => `无法继续。${given.error}`,
    cancelled: (given) => `已停止：${outcome(given)}。`,
    undoing: () => '正在撤销…',
    undone: () => '已撤销。',
  },
});
