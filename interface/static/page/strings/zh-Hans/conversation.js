import { strings as english } from '../en/conversation.js';
import { fill } from '../fill.js';
import { money, number } from './count.js';

export const strings = fill(english, {
  product: 'Anaphora',
  unreachable: '无法连接服务器。',
  outdated: '服务器上的 Anaphora 已更新。请重新加载页面；你输入的内容会保留。',
  timedOut: '服务器没有及时响应。',
  busy: '请稍候…',

  attempt: {
    again: '重试',
    perhapsDone: '也许已经完成了：重试可能会重复执行一次。',
  },

  sender: { user: '你', assistant: '助手' },

  badge: {
    title: '点击复制消息引用',
    described: (index, hash) => (hash ? `消息 ${index}，标识 ${hash}。复制其引用` : `消息 ${index}。复制其引用`),
    copied: '已复制！',
    tooEarly: '对话的第一个回答完成后，此消息才会有引用。',
  },

  copy: {
    text: '复制文本',
    code: '复制代码',
    copied: '已复制',
    done: (what) => `已复制 ${what}`,
    permalink: '已复制永久链接',
    manualTitle: '手动复制',
    manualHelp: '此浏览器不允许使用剪贴板。文本已选中：请按 Ctrl+C（⌘C）。',
    close: '关闭',
  },

  code: {
    download: '下载',
    wrap: '自动换行',
    preview: '预览',
    previewTitle: '代码预览',
    csv: '复制为 CSV',
    latex: '复制 LaTeX',
  },

  usage: {
    cost: (amount, currency) => money(amount, currency),
    tokens: (asked, answered) => `${number(asked)} → ${number(answered)} 个词元`,
    speed: (tokens) => `${number(tokens < 10 ? tokens : Math.round(tokens))} 个词元/秒`,
    title: '模型读取的词元 → 模型写出的词元',
  },

  actions: {
    open: '消息操作',
    copyId: (shortId) => `复制消息 ID #${shortId}`,
    aboutId: '供程序使用，“回复”处也显示它。要引用此消息，请从徽标复制。',
    copyPermalink: '复制永久链接',
    reply: '回复',
    readAloud: '朗读，或停止朗读',
    remember: '保存为记忆',
    edit: '编辑',
    fork: '从这里派生',
    pin: '固定',
    unpin: '取消固定',
    hide: '对模型隐藏',
    show: '对模型显示',
    moveUp: '上移',
    moveDown: '下移',
    delete: '删除',
    selectThis: '选择',
    select: (index) => `选择消息 ${index}`,
  },

  edit: {
    label: '消息文本',
    save: '保存',
    saving: '正在保存…',
    saveAndAsk: '保存并重新回答',
    unsaved: '更改尚未保存。再按 Esc 放弃。',
    discard: '放弃更改',
    cancel: '取消',
    edited: '已编辑',
    changed: '此消息已在别处被更改。',
    gone: '此消息已在别处被删除。',
    saveAnyway: '仍然保存',
    restore: '恢复并保存',
    copy: '复制你写的内容',
    showOther: '显示另一份文本',
    hideOther: '隐藏另一份文本',
    elsewhere: '此消息已被更改或删除。你写的内容还保留在其中。',
    failed: (message) => `无法更改消息。${message}`,
  },

  history: {
    open: '已编辑。显示之前的内容',
    title: '先前的文本',
    until: '直到',
    none: '没有保留先前的文本。',
    failed: (message) => `无法加载先前的文本。${message}`,
  },

  unkept: {
    label: '不保存',
    title: '离开或重新加载页面后即消失',
    cancelled: '已停止。',
    interrupted: '已中断。',
  },

  hidden: {
    note: '已对模型隐藏。',
    show: '显示',
    failed: (message) => `无法隐藏或显示消息。${message}`,
  },

  pins: {
    label: '已固定的消息',
    pinned: '已固定',
    open: '转到此消息',
    remove: (index) => `取消固定消息 ${index}`,
    failed: (message) => `无法更改固定状态。${message}`,
    loadFailed: (message) => `无法加载已固定的消息。${message}`,
  },

  fold: {
    all: (lines) => `显示全部 ${number(lines)} 行`,
    less: '收起',
  },

  variants: {
    label: '此回答的变体',
    place: (number, total) => `${number}/${total}`,
    previous: '上一个变体',
    next: '下一个变体',
    compare: '并排比较',
    compareFailed: (message) => `无法加载这些回答。${message}`,
    failed: (message) => `无法选择变体。${message}`,
    regenerateFailed: (message) => `无法重新回答。${message}`,
  },

  branches: {
    label: '此问题的版本',
    place: (number, total) => `${number}/${total}`,
    previous: '问题的上一个版本',
    next: '问题的下一个版本',
    tree: '显示所有分支',
    title: '此对话的分支',
    failed: (message) => `无法选择分支。${message}`,
    treeFailed: (message) => `无法加载分支。${message}`,
  },

  find: {
    label: '在此对话中查找',
    placeholder: '在此对话中查找',
    count: (place, total) => (total === 0 ? '未找到' : `第 ${number(place)} 条，共 ${number(total)} 条消息`),
    previous: '上一条（Shift+Enter）',
    next: '下一条（Enter）',
    close: '关闭（Esc）',
    failed: (message) => `无法在对话中查找。${message}`,
  },

  beside: { isOpen: '此对话已经打开。' },

  rail: { failed: (message) => `无法加载。${message}` },

  move: {
    failed: (message) => `无法移动消息。${message}`,
    stays: '没有移动任何消息：对话的首尾和有多种问法的问题保持原位。',
  },

  reply: {
    to: (name, shortId) => (shortId ? `回复${name}（#${shortId}）` : `回复${name}`),
    unknown: '一条消息',
    deleted: '（已删除）',
    cancel: '不回复此消息',
  },

  answer: {
    waiting: '正在等待模型…',
    reconnecting: '连接已断开，正在重新连接…',
    cancelled: '已停止。已说的内容会保留。',
    interrupted: '已中断。已说的内容会保留。',
    failed: '回答失败。',
    again: '重新回答',
    goOn: '继续',
    empty: '回答是空的。',
    finished: '回答已完成。',
  },

  parts: {
    openFile: (name) => `显示 ${name}`,
    thinking: '思考过程',
    notice: (sentence) => `提示：${sentence}`,
    other: (kind, name) => `${{ tool_call: '工具', file: '文件', image: '图片' }[kind] ?? kind}：${name}`,
    tool: (name, state, seconds) => `工具 ${name}：${state}${seconds ? `（${seconds} 秒）` : ''}`,
    toolStates: { running: '运行中…', complete: '完成', failed: '失败', cancelled: '已停止', waiting: '等待你的同意', interrupted: '已中断' },
    toolData: (given, result) => `输入：${given}\n\n结果：${result}`,
  },

  proposal: {
    memory: (statement) => `待记住：${statement}`,
    documents: {
      write: (path) => `待写入：${path}`, append: (path) => `待添加到 ${path} 末尾`,
      replace_lines: (path) => `待修改：${path}`, rename: (path, newPath) => `待重命名：${path} → ${newPath}`, delete: (path) => `待移入回收站：${path}`,
    },
    other: (kind) => `有一项改动建议（${kind}）。`,
    call: (tool) => `模型想要调用 ${tool}，参数如下：`, allowOnce: '允许一次', allowHere: '在此对话中允许', refuse: '拒绝',
    callStates: { accepted: '已允许。', declined: '已拒绝。', expired: '回答已不再等待此调用。' },
    accept: '接受', decline: '拒绝', states: { accepted: '已接受。', declined: '已拒绝。', expired: '时间过长：该建议已过期。' },
    failed: (message) => `未能完成。${message}`,
  },

  answerSettings: {
    saved: '此对话的设置已保存。',
    failed: (message) => `操作未成功。${message}`,
  },

  send: {
    uploading: '有文件正在上传。上传完成后消息会自动发送。',
    notUploaded: '有文件没有上传。请重试，或将其移除。',
    send: '发送消息',
    stop: '停止回答',
    sendLater: '回答完成后发送',
    failedPart: (message) => `页面的一部分无法加载。${message}`,
    again: '重试',
    tooLong: (limit) => `一条消息最多 ${number(limit)} 个字符。`,
    stopFailed: (message) => `无法停止回答。${message}`,
  },

  outbox: {
    label: '尚未发送的消息',
    sending: () => '正在发送…',
    queued: () => '回答完成后发送。',
    delayed: (message) => `尚未发送。${message}消息保留在这里，一旦可以就会发送。`,
    retrying: (message) => `${message}正在重试…`,
    refused: (message) => `未发送。${message}`,
    cut: '若服务器已收到，会出现在消息中。',
    elsewhere: (message) => `有一条消息尚未发送，保留在你写它的地方。${message}`,
    goThere: '前往',
    now: '立即发送',
    edit: '取回并编辑',
    remove: '移除',
  },

  composer: {
    label: '消息',
    placeholder: '写一条消息。输入 @ 可引用对话和记忆。',
    references: '你的消息中的引用',
    useMemories: { on: '正在使用记忆。关闭', off: '未使用记忆。开启', name: '使用记忆' },
    attached: '随消息一起发送的记忆',
    attachedAlready: (friendlyId) => `@${friendlyId} 已附加到你的下一条消息。`,
    attachedNow: (friendlyId) => `@${friendlyId} 将随你的下一条消息发送。`,
    attachedDeleted: '已删除',
    detach: (friendlyId) => `不附加 @${friendlyId}`,
    tooManyAttached: (most) => `一条消息最多附加 ${most} 条记忆。`,
  },

  transcript: {
    label: '消息',
    loading: '正在加载消息…',
    earlier: '正在加载更早的消息…',
    later: '正在加载更新的消息…',
    toNewest: '转到最新消息',
    sideFailed: { earlier: '无法加载更早的消息。', later: '无法加载更新的消息。' },
    failed: (message) => `无法加载消息。${message}`,
    stale: (message) => `显示的内容可能已过时：无法重新加载。${message}`,
    again: '重试',
    gone: '此对话不存在，或已被删除。',
    messageGone: '那条消息已经不在了。',
    untitled: '（无标题）',
    none: '新建对话',
  },

  empty: {
    title: '你想聊些什么？',
    importOffer: '将 ChatGPT、Claude 等的导出文件拖放到这里，或点击选择…',
    importFailed: (message) => `无法打开导入。${message}`,
    intro: '在下面输入。一个对话中的内容，可在另一个中询问：',
    temporary: '这是临时对话：离开后或一天后消失。',
    steps: [
      ['输入 @', '再加几个词，即可找到对话、消息或你让它记住的内容。'],
      ['按 Ctrl+K', '（Mac 上为 ⌘K）查看命令和对话，Ctrl+Shift+F 搜索一切；? 显示快捷键。', 'keyboard'],
      ['输入 /help', '查看消息开头可以使用的命令。'],
    ],
    models: {
      ready: '模型已就绪。',
      prepared: '模型正在准备。现在可以输入，准备好后就会回答。',
      failed: '模型目前不可用。其他一切正常。',
      none: '没有设置模型，不会有回答。引用、记忆、搜索正常。',
    },
  },

  used: {
    begin: '已使用：',
    memories: (n) => `${number(n)} 条记忆`,
    source: {
      referenced: '在你的消息中提到',
      attached: '附加到你的消息',
      pinned: '已固定',
      conv_pinned: '已固定到此对话',
      auto: '因内容相符而找到',
    },
  },

  models: {
    fetching: (name, percent) => (percent === null ? `正在下载 ${name}…` : `正在下载 ${name}：${percent}%`),
    loading: (name) => `正在加载 ${name}…`,
    failed: (name) => `${name} 不可用。`,
    none: '没有配置模型，其他正常；设置 ANAPHORA_MAIN_MODEL 并重启即可获得回答。',
    progress: '模型进度',
  },

  mermaid: { alt: '图表', source: '源代码', failed: '无法绘制此图表。' },
});
