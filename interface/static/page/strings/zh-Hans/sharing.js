import { shareStrings as english } from '../en/sharing.js';
import { fill } from '../fill.js';
import { number } from './count.js';

const messages = (n) => `${number(n)} 条消息`;
const size = (bytes) => (bytes >= 1e6 ? `${number(Math.round(bytes / 1e5) / 10)} MB` : `${number(Math.ceil(bytes / 1024))} KB`);

export const shareStrings = fill(english, {
  again: '重试',
  messages,
  size,

  dialog: {
    title: (title) => `分享“${title}”`,
    looking: '正在查看可以分享的内容…',
    lookFailed: (message) => `无法查询是否已分享。${message}`,
    shows: (n) => `任何拥有链接的人无需账户即可阅读这 ${messages(n)}当前的内容。之后说的内容只留在这里。`,
    nothing: '还没有可分享的内容：没有已完成的消息。',
    stays: '不包含：隐藏的消息、记忆、设置、其他对话和你的电子邮件地址。',
    hidden: (n) => `${messages(n)}已隐藏，不包含在内。`,
    quotes: '引用会保留为你输入的文字，回答中可能引述它得到的内容，包括记忆和其他消息。分享前请通读一遍。',
    files: {
      which: '链接显示的文件',
      note: '只包含你勾选的文件。图片的元数据（例如拍摄地点）不包含在内。',
    },
    create: '创建链接',
    creating: '正在制作快照…',
    createFailed: (message) => `无法分享。${message}`,
    link: '链接',
    copy: '复制',
    copied: '已复制',
    made: '链接已创建并复制。',
    notCopied: '链接已创建。此浏览器不允许自动复制：链接已在上方选中，请从那里复制。',
    open: '打开',
    since: (moment, n) => `显示 ${messages(n)}，为 ${moment} 时的内容。`,
    unknown: '链接有效，但由于服务器的密钥已更改，无法再次显示它。“更新快照”会生成一个新的链接。',
    update: '更新快照',
    updated: '链接现在显示对话的当前内容。',
    withdraw: '收回链接',
    close: '关闭',
  },

  withdraw: {
    title: '收回链接？',
    text: '拥有它的人将再也看不到任何内容。链接无法恢复；再次分享会生成另一个链接。',
    confirm: '收回',
    running: '正在收回…',
    done: '链接已收回。',
    failed: (message) => `无法收回链接。${message}`,
  },

  list: {
    looking: '正在加载链接…',
    none: '没有分享任何内容。',
    failed: (message) => `无法加载链接。${message}`,
    about: (n, moment) => `${messages(n)}，截至 ${moment}`,
    inBin: '在回收站中，目前无法打开',
    copy: (title) => `复制“${title}”的链接`,
    open: (title) => `打开“${title}”的链接`,
    withdraw: (title) => `收回“${title}”的链接`,
  },

  page: {
    sender: { user: '用户', assistant: '助手' },
    about: (n, moment) => `${messages(n)} · 只读副本，截至 ${moment}`,
    loading: '正在加载…',
    more: '显示更多',
    failed: (message) => `无法加载更多。${message}`,
    save: (name) => `保存 ${name}`,
    gone: (name) => `“${name}”已不存在。重新加载页面即可查看链接现在显示的内容。`,
  },
});
