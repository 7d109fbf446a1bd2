import { proposalStrings as english } from '../en/proposals.js';
import { fill } from '../fill.js';

export const proposalStrings = fill(english, {
  title: '模型和程序的建议',
  none: '没有建议。',
  close: '关闭',
  from: { agent: '智能体', answer: '回答', program: '程序', token: (name) => `使用令牌“${name}”的程序` },
  about: (source, time) => `${source} · ${time}`,
});
