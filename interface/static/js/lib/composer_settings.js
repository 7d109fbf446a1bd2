import { rememberedSwitch } from './remembered_switch.js';

/**
 * Which key sends, as this device remembers it for who uses it: `on` (or nothing) is Enter, and Shift+Enter breaks the line;
 * `off` is Ctrl+Enter alone, and Enter breaks the line.
 */
export const SEND_ON_ENTER_KEY = 'anaphora:send-on-enter';

const setting = rememberedSwitch(SEND_ON_ENTER_KEY, true);

/** @returns {boolean} whether Enter sends; Ctrl+Enter (⌘ Enter) always does */
export const sendsOnEnter = () => setting.get();

/** @param {boolean} on */
export const setSendsOnEnter = (on) => setting.set(on);
