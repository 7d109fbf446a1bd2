import { categoryNames as english } from '../en/categories.js';
import { fill } from '../fill.js';

export const categoryNames = fill(english, {
  fact: '事实',
  preference: '偏好',
  decision: '决定',
  memory: '记忆',
  task: '任务',
  reminder: '提醒',
  habit: '习惯',
  observation: '观察',
  personal: '个人',
  health: '健康',
  relationships: '人际关系',
  learning: '学习',
  life_ops: '日常事务',
  work: '工作',
  finance: '财务',
  person: '人物',
  org: '组织',
  place: '地点',
  topic: '话题',
  project: '项目',
  system: '系统',
  other: '其他',
});
