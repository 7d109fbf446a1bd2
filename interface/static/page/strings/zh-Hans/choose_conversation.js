import { chooseConversationStrings as english } from '../en/choose_conversation.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const chooseConversationStrings = fill(english, {
  find: '查找对话',
  list: '对话',
  found: (n) => count(n, '个对话', '个对话'),
  none: '没有叫这个名字的对话。',
  failed: (reason) => `无法加载对话。${reason}`,
  cancel: '取消',
});
