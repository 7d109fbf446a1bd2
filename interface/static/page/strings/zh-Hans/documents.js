/** @see ../en/documents.js */

import { documentStrings as english } from '../en/documents.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const documentStrings = fill(english, {
  title: '文档',
  close: '关闭文档',
  search: '查找文档',
  newName: '新文档的路径',
  create: '新建文档',
  failed: (message) => `无法加载文档。${message}`,
  count: (n) => `${number(n)} 个文档`,
  inText: '正文中',
  noMatch: '没有匹配的文档。',
  empty: '还没有文档。可以在这里写一个，或把 Markdown 文件放进你的文档库。',
  broken: '失效的链接',
  noBroken: '每个链接都指向一个文档。',
  orphans: '没有链接的文档',
  noOrphans: '每个文档都有链接。',
  graph: '链接图',
  leftOut: (n) => `还有 ${number(n)} 个文档未显示`,
  gone: '这个文档已经不存在。',
  all: '所有文档',
  edit: '编辑',
  backlinks: '链接自',
  brokenHere: '失效的链接',
  brokenAt: (link, line) => `${link}，第 ${number(line)} 行`,
  usedBy: '使用过它的消息',
  untitled: '（无标题）',
  text: '文档内容',
  save: '保存',
  preview: '预览',
  discard: '放弃我的修改',
  saving: '正在保存…',
  savedMeanwhile: '已保存。期间输入的内容尚未保存。',
  saveFailed: (message) => `未保存。${message}`,
  changedMeanwhile: '文档在此期间被修改。现在的内容是：',
  deletedMeanwhile: '文档在此期间被删除。',
  keepMine: '改为保存我的内容',
  takeTheirs: '采用这个内容',
});
