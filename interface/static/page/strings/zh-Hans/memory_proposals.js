import { memoryStrings as english } from '../en/memory_proposals.js';
import { fill } from '../fill.js';
import { number } from './count.js';

const memories = (n) => `${number(n)} 条记忆`;

export const memoryStrings = fill(english, {
  command: {
    listTitle: '命令',
    close: '关闭',
    text: '文本',
    unknown: (name) => `没有命令 /${name}。/help 会列出所有命令。`,
    asText: '作为文本发送',
    nothingSaid: '这里还没有说过任何内容。请在 /memory 后写要记住的内容。',
    usage: '请在 /memory 后写要记住的内容。',
  },

  confirm: {
    title: '新记忆',
    statement: '陈述',
    type: '类型',
    domain: '领域',
    discard: '放弃你输入的内容？',
    discardConfirm: '放弃',
    tags: '标签',
    tagsHint: '用逗号分隔',
    about: (names) => `关于：${names}`,
    thinking: '正在寻找建议…',
    modelLooks: (seconds) => (seconds >= 2 ? `模型也在查看：大约 ${Math.ceil(seconds)} 秒。你现在就可以添加。` : '模型也在查看。你现在就可以添加。'),
    noSuggestions: '现在没有建议。你可以直接添加。',
    add: '记住',
    adding: '正在记住…',
    cancel: '取消',
    failed: (message) => `未能记住。${message}`,
    done: (friendlyId) => `已记为 @${friendlyId}`,
    undo: '撤销',
    undone: '已重新忘记。',
    undoFailed: (message) => `无法撤销。${message}`,
    similar: {
      duplicate: (friendlyId) => `你已有这条：@${friendlyId}`,
      contradiction: (friendlyId) => `与 @${friendlyId} 说法不同`,
    },
    replace: '取代那一条',
    conflict: '否则两者都保留，冲突会在“记忆”的“冲突”中等你处理。',
  },

  proposals: {
    title: '记住这些？',
    looking: '正在寻找值得记住的内容…',
    modelLooks: (seconds) => (seconds >= 2 ? `模型也在寻找：大约 ${Math.ceil(seconds)} 秒。` : '模型也在寻找…'),
    modelFailed: (message) => `模型没有找到更多内容。${message}`,
    none: '其中没有新的内容可记。',
    failed: (message) => `操作未成功。${message}`,
    again: '重试',
    accept: (n) => (n === 0 ? '记住' : `记住 ${memories(n)}`),
    accepting: '正在记住…',
    dismiss: '关闭',
    close: '关闭',
    gone: '那条消息已不再显示。',
    expired: '这些建议已过期。',
    action: {
      add: '',
      update: (friendlyId) => `取代 @${friendlyId}`,
      skip: (friendlyId) => `你已有这条：@${friendlyId}`,
      conflict: (friendlyId) => `与 @${friendlyId} 说法不同`,
    },
    result: { add: '已记住', update: '已取代', skip: '保持不变', conflict: '已保留，有冲突待解决' },
    show: '显示',
    undo: '撤销',
    undone: '已恢复原状。',
    done: (n) => (n === 0 ? '没有记住任何内容。' : `已记住 ${memories(n)}。`),
  },
});
