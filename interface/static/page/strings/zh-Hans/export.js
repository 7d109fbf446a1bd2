import { exportStrings as english } from '../en/export.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

export const exportStrings = fill(english, {
  formats: { markdown: 'Markdown', html: '网页 (HTML)', json: 'JSON', bundle: '打包文件 (ZIP)' },
  running: '正在导出对话…',
  done: (name) => `已保存“${name}”`,
  failed: (message) => `无法导出对话。${message}`,
  again: '重试',
  archive: {
    begun: '正在开始…',
    progress: '下载进度',
    far: (done, total, bytes) => `${number(done)} / ${count(total, '个对话', '个对话')} · ${number(bytes / 1e6)} MB`,
    cancel: '取消',
    cancelled: '已取消下载，没有保存任何内容。',
    brokeOff: '下载在完成前中断了：请检查网络连接。',
    failed: (message) => `没有保存任何内容。${message}`,
  },
});
