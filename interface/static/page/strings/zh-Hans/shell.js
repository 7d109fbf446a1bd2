import { shellStrings as english } from '../en/shell.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const shellStrings = fill(english, {
  dialog: { cancel: '取消', save: '保存', confirm: '继续' },

  session: {
    ended: '你已退出登录。你输入的内容保留在此浏览器中。',
    signIn: '登录',
    other: (email) => `此浏览器已登录另一个账户。本页面属于 ${email}：这里的操作不会执行，输入的内容为其保留。`,
    reload: '重新加载',
    logOutTitle: '退出登录并移除未发送的内容？',
    logOutText: '还有未发送的草稿或消息，只保存在此浏览器中，退出登录时会被移除。',
    logOut: '移除并退出登录',
  },

  defaultWorkspace: '常规',
  globalAssistant: '全局助手',

  toast: { dismiss: '关闭', undo: '撤销' },

  version: { newer: '服务器上的 Anaphora 已更新。', reload: '重新加载' },
  keepsNothing: '浏览器暂时无法保存输入的内容，离开即丢失。',

  attention: {
    done: '回答已完成。',
    untitled: 'Anaphora',
    offer: '你离开时有一个回答完成了。下次要让浏览器通知你吗？',
    accept: '通知我',
  },

  proposals: {
    open: (n) => `${number(n)} 条建议`,
    failed: (message) => `无法加载建议。${message}`,
  },

  sidebar: {
    label: '对话',
    loading: '正在加载对话…',
    failed: (message) => `无法加载你的对话。${message}`,
    again: '重试',
    empty: '还没有对话。',
    open: '显示侧边栏',
    close: '隐藏侧边栏',
    actionFailed: (message) => `操作未成功。${message}`,
    rowActions: '操作',
    actionsOf: (title) => `“${title}”的操作`,
    selected: (n) => `已选择 ${number(n)} 个对话`,
    dragged: '项',
    newTemporary: '临时对话',
    more: '显示更多',
    moreOf: (n) => `显示更多（${number(n)}）`,
    moreConversations: '显示更多对话',
  },

  shelves: {
    loading: '正在加载…',
    failed: (message) => `无法加载。${message}`,
    archiveEmpty: '没有归档的对话。',
    binEmpty: '回收站是空的。',
    daysLeft: (n) => `还剩 ${number(n)} 天`,
    restore: (title) => `恢复“${title}”`,
    erase: (title) => `永久删除“${title}”`,
    eraseTitle: (title) => `永久删除“${title}”？`,
    eraseText: '删除后无法找回，引用会显示它已被删除。',
    eraseConfirm: '永久删除',
    empty: '清空回收站',
    emptyTitle: (n) => `永久删除 ${number(n)} 个对话？`,
    emptied: (n) => `已永久删除 ${number(n)} 个对话`,
    emptying: '正在清空回收站…',
  },

  flags: { none: '无旗标', red: '红色', orange: '橙色', yellow: '黄色', green: '绿色', blue: '蓝色', purple: '紫色' },
  flagged: (title, color) => `${title}，${color}旗标`,
  unkept: (title) => `${title}，不保存`,
  answering: '正在回答',
  unread: '未读回答',

  filter: {
    searching: '正在搜索…',
    matches: (n) => (n ? `${number(n)} 个匹配项` : '没有匹配项。'),
    more: (n) => `前 ${number(n)} 个匹配项。输入更多内容以缩小范围。`,
    failed: (message) => `搜索失败。${message}`,
    workspace: '工作区',
    tag: (n) => `${number(n)} 个对话`,
  },

  conversationMenu: {
    copyReference: '复制对话引用',
    copyFullReference: '复制完整引用',
    openWindow: '在新窗口中打开',
    openBeside: '在旁边打开',
    rename: '重命名',
    clone: '克隆',
    pin: '固定',
    unpin: '取消固定',
    pinMany: (n) => `固定 ${number(n)} 个对话`,
    unpinMany: (n) => `取消固定 ${number(n)} 个对话`,
    flag: '设置旗标',
    flagMany: (n) => `为 ${number(n)} 个对话设置旗标`,
    tags: '标签…',
    archive: '归档',
    archiveMany: (n) => `归档 ${number(n)} 个对话`,
    unarchive: '移出归档',
    moveTo: '移动到…',
    delete: '删除',
    deleteMany: (n) => `删除 ${number(n)} 个对话`,
    moveMany: (n) => `将 ${number(n)} 个对话移动到…`,
  },

  workspaceMenu: {
    newConversation: '新建对话',
    newWorkspace: '新建子工作区',
    rename: '重命名',
    color: '更改颜色',
    moveTo: '移动到…',
    topLevel: '顶层',
    delete: '删除',
    colors: {
      primary: '蓝色',
      success: '绿色',
      danger: '红色',
      warning: '琥珀色',
      info: '青色',
      secondary: '灰色',
    },
  },

  conversation: {
    referenceCopied: (reference) => `已复制 ${reference}`,
    renameTitle: '重命名对话',
    renameLabel: '标题',
    tagsTitle: (title) => `“${title}”的标签`,
    tagsLabel: '标签，用逗号分隔',
    deleted: (title) => `已删除“${title}”`,
    deletedMany: (n) => `已删除 ${number(n)} 个对话`,
    deletedElsewhere: '此对话已在另一个窗口中删除。回收站会保留它 30 天。',
    restored: '已恢复',
    archived: (title) => `已归档“${title}”`,
    archivedMany: (n) => `已归档 ${number(n)} 个对话`,
    unarchived: (title) => `已将“${title}”移出归档`,
    cloned: (title) => `已克隆“${title}”`,
  },

  workspace: {
    newTitle: '新建工作区',
    label: '名称',
    create: '创建',
    renameTitle: '重命名工作区',
    deleteTitle: (name) => `删除“${name}”？`,
    deleteText: '其中的对话和工作区会移到上一级工作区。',
    deleteConfirm: '删除工作区',
  },
});
