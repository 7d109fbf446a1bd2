import { welcomeStrings as english } from '../en/welcome.js';
import { fill } from '../fill.js';

export const welcomeStrings = fill(english, {
  failed: (message) => `无法创建欢迎内容。${message}`,
  suggestions: '可以试试',
  lead: '试试：',
  dismiss: '不再显示这些建议',
  dismissFailed: (message) => `无法关闭建议。${message}`,
  noModel: '没有设置模型，所以不会有回答；但你引用的内容仍然能找到。',
});
