import { shortcutStrings as english } from '../en/shortcuts.js';
import { fill } from '../fill.js';

export const shortcutStrings = fill(english, {
  title: '键盘快捷键',
  close: '关闭',
  failed: (message) => `无法加载快捷键。${message}`,
  nothingToCopy: '此对话还没有名称：第一个回答完成后才会有。',
  copied: (reference) => `已复制 ${reference}`,
  keys: { Mod: 'Ctrl', Alt: 'Alt', Shift: 'Shift' },
  macKeys: { Mod: '⌘', Alt: '⌥', Shift: '⇧' },
  of: {
    search: '搜索全部内容',
    newConversation: '新建对话',
    previous: '侧边栏中的上一个对话',
    next: '侧边栏中的下一个对话',
    sidebar: '显示或隐藏侧边栏',
    copyReference: '复制此对话的引用',
    settings: '设置',
    compose: '转到输入框',
    help: '显示此列表',
    send: '发送消息',
    newLine: '在消息中换行',
    mention: '在消息中：引用对话、消息或记忆',
    command: '在消息开头：命令',
    close: '关闭打开的内容',
  },
});
