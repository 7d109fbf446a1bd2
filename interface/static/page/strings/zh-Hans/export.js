import { exportStrings as english } from '../en/export.js';
import { fill } from '../fill.js';

export const exportStrings = fill(english, {
  formats: { markdown: 'Markdown', html: '网页 (HTML)', json: 'JSON', bundle: '打包文件 (ZIP)' },
  running: '正在导出对话…',
  done: (name) => `已保存“${name}”`,
  failed: (message) => `无法导出对话。${message}`,
  again: '重试',
});
