import { messageActionStrings as english } from '../en/message_actions.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const messageActionStrings = fill(english, {
  remove: {
    done: (n) => `已删除 ${number(n)} 条消息。`,
    failed: (message) => `无法删除消息。${message}`,
    restoreFailed: (message) => `无法恢复消息。${message}`,
  },

  fork: {
    running: '正在复制对话…',
    done: '这是到该消息为止的副本：可以从这里换一种方式继续。',
    failed: (message) => `无法派生对话。${message}`,
  },

  selection: {
    label: '已选择的消息',
    count: (n) => `已选择 ${number(n)} 条消息`,
    copyReferences: '复制引用',
    clear: '清除选择',
  },

  compare: {
    title: (n) => `对同一问题的 ${number(n)} 个回答`,
    list: '这些回答',
    place: (number, total) => `第 ${number} 个，共 ${total} 个`,
    shown: '当前显示在对话中',
    use: '使用这个',
    empty: '没有内容。',
    close: '关闭',
  },
});
