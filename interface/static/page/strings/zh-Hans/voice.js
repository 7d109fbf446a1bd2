import { voiceStrings as english } from '../en/voice.js';
import { fill } from '../fill.js';

export const voiceStrings = fill(english, {
  offerDictation: '听写消息',
  offerReading: '朗读消息',
  warning: '有些浏览器会把声音或朗读的文本发送给其制造商。',
  dictate: '听写',
  listening: '正在听… 停止',
  failed: {
    'not-allowed': '浏览器不允许此页面使用麦克风。',
    'audio-capture': '没有麦克风。',
    network: '浏览器无法连接语音识别服务。',
  },
  failedOtherwise: '浏览器没能听懂你的话。',
});
