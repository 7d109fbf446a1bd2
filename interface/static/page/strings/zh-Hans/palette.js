import { paletteStrings as english } from '../en/palette.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const paletteStrings = fill(english, {
  title: '命令和对话',
  field: '输入命令、对话或设置',
  titleBeside: '在旁边打开对话',
  fieldBeside: '要在旁边打开哪个对话？',
  beside: '在旁边打开（Ctrl+Enter）',
  list: '命令和对话',
  groups: {
    recent: '最近', conversations: '对话', actions: '命令', conversation: '此对话', settings: '设置', search: '搜索',
  },
  keys: '↑ ↓ 选择，Enter 执行，Esc 关闭',
  found: (n) => (n ? `${number(n)} 项` : '没有匹配项。'),
  within: (menu, item) => `${menu.replace(/…$/, '')} › ${item}`,
  searchFor: (query) => `在全部内容中搜索“${query}”`,
  searchFailed: (message) => `无法搜索较早的对话。${message}`,
  failed: (message) => `操作未成功。${message}`,
});
