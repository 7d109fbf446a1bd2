import { threadStrings as english } from '../en/threads.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const threadStrings = fill(english, {
  label: '话题串',
  none: '这里还没有消息属于话题串。回复一条消息即可开始一个。',
  replies: (n) => count(n, '条回复', '条回复'),
  last: (time) => `最近 ${time}`,
  failed: (reason) => `无法加载话题串。${reason}`,
  more: '显示更多',
  recipe: '显示',
  allRecipes: '全部',
  rename: '重命名话题串',
  renameLabel: '话题串的标题；留空则使用开头的文字',
  renameFailed: (reason) => `无法重命名话题串。${reason}`,
  export: '导出为 Markdown',
  reply: (shortId) => `回复 #${shortId}`,
  elsewhere: '在另一个对话中',
  replyTo: (shortId) => `回复 #${shortId}`,
  deleted: '（已删除）',
  copyShortId: '复制短标识',
});
