import { railStrings as english } from '../en/rail.js';
import { fill } from '../fill.js';
import { money } from './count.js';

export const railStrings = fill(english, {
  usage: '用量',
  noUsage: '这里还没有统计过任何回答。',
  answers: '回答',
  read: '读取的令牌',
  written: '写出的令牌',
  cost: '价格',
  costs: (amounts) => amounts.map(([currency, amount]) => money(amount, currency)).join(' + '),
  allBranches: '包括此对话的所有分支和版本。',
  label: '对话详情',
  close: '关闭',
  references: '引用',
  backlinks: '被引用',
  pins: '固定',
  branches: '分支',
  noReferences: '当前显示的消息还没有引用任何内容。输入 @ 可以引用对话、消息或记忆。',
  noBacklinks: '没有消息引用整个对话或其中的一段消息。引用单条消息的，列在那条消息下面。',
  noPins: '没有固定的消息。可以在消息的菜单中固定。',
  noBranches: '还没有换一种说法重新提过的问题。编辑一个问题，然后选择“保存并重新回答”。',
  files: '文件',
  noFiles: '这里还没有消息带文件。把文件拖到页面上、粘贴图片，或点击回形针。',
});
