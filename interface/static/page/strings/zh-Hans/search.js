import { searchStrings as english } from '../en/search.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const searchStrings = fill(english, {
  title: '搜索',
  close: '关闭',
  label: '搜索全部内容',
  placeholder: '词语、"短语"、-排除、sender:user …',
  kinds: '搜索范围',
  kind: { all: '全部', message: '消息', file: '文件', document: '文档', conversation: '对话', memory: '记忆' },
  help: '如何缩小范围',
  operators: [
    ['酵母 面团', '两个词都要有，顺序不限；最后一个可以是词的开头'],
    ['"黑麦 面粉"', '这些词相邻'],
    ['-酵母', '不含这个词'],
    ['sender:user', '你说的内容；sender:model 是回答的内容'],
    ['in:bread_starter_k3f9', '在这个名称的对话中'],
    ['after:2026-02-08', '当天或之后；月份（2026-02）或年份也可以'],
    ['before:2026-03', '在此之前'],
  ],
  keys: '↑ ↓ 选择，Enter 打开，Esc 返回',
  start: '输入你记得的内容。会搜索消息、文件、文档、对话和记忆。',
  searching: '正在搜索…',
  none: (q) => `没有找到与“${q}”相关的内容。`,
  found: (n, more) => (more ? `${number(n)} 个结果，还有更多` : `${number(n)} 个结果`),
  failed: (message) => `搜索失败。${message}`,
  again: '重试',
  more: '显示更多',
  moreFailed: (message) => `无法加载更多。${message}`,
  all: { file: '更多文件', document: '更多文档', conversation: '更多对话', memory: '更多记忆' },
  page: (number) => `第 ${number} 页`,
  copy: '复制引用',
  copyOf: (title) => `复制“${title}”的引用`,
  copied: '已复制！',
});
