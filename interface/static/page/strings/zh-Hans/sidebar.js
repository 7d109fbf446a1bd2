import { sidebarStrings as english } from '../en/sidebar.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const sidebarStrings = fill(english, {
  menu: {
    fork: '派生…',
    share: '分享…',
    export: '导出',
    stopKeeping: '停止保存',
    keep: '恢复保存',
    tagsMany: (n) => `${number(n)} 个对话的标签…`,
  },

  tags: {
    title: (n) => `${number(n)} 个对话的标签`,
    list: '标签',
    some: (n, total) => `${number(total)} 个中的 ${number(n)} 个`,
    label: '更多标签',
    hint: '按回车键添加所写的内容；多个标签用逗号分隔。',
    add: '添加',
    added: (tags) => `已添加：${tags}`,
    tooLong: (most) => `标签最多 ${number(most)} 个字符。`,
    done: (n) => `已更改 ${number(n)} 个对话的标签`,
    full: '它们可能已不存在，或标签数量已达上限。',
  },

  many: {
    running: (n) => `正在更改 ${number(n)} 个对话…`,
    left: (n, total) => `${number(total)} 个对话中有 ${number(n)} 个无法更改。`,
    gone: '它们可能已不存在，或属于别处。',
    goneOne: '操作未成功。此对话可能已不存在。',
    moved: (n, name) => `已将 ${number(n)} 个对话移动到“${name}”`,
  },

  stateless: {
    on: '从现在起，这里所说的内容不保存。',
    off: '这里所说的内容恢复保存。',
  },

  workspace: {
    deleted: (name) => `已删除工作区“${name}”`,
    restored: (name) => `已恢复工作区“${name}”`,
  },

  fork: {
    title: (title) => `派生“${title}”`,
    text: '从你选择的消息继续的一份副本。此对话保持不变。',
    find: '查找消息',
    whole: '整个对话',
    messages: '消息',
    loading: '正在加载消息…',
    none: '没有匹配项。',
    empty: '还没有消息。',
    failed: (message) => `无法加载消息。${message}`,
    cancel: '取消',
    done: (title) => `已派生“${title}”`,
    from: (index) => `#${index}`,
  },
});
