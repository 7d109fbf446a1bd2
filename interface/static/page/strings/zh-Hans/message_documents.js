import { messageDocumentStrings as english } from '../en/message_documents.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const messageDocumentStrings = fill(english, {
  label: '文档',
  used: '文档',
  found: '找到的',
  more: (n) => `还有 ${number(n)} 个`,
  none: '没有匹配的文档。',
  noneHere: '这里还没有消息引用文档。输入 [[ 可以引用一个。',
  related: '这些可能也相关',
  deleted: '已被删除',
  onlyFound: '已找到，未使用',
  goTo: (index) => `转到消息 ${index}`,
});
