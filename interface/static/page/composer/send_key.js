import { sendsWithEnter } from '../core/remembered_switch.js';

/** Which key sends, as this device remembers it under `anaphora:send-on-enter`: `on` (or nothing) is Enter, `off` Ctrl+Enter. */

/** @returns {boolean} whether Enter sends, and Shift+Enter breaks the line; Ctrl+Enter (⌘ Enter) always sends */
export const sendsOnEnter = () => sendsWithEnter.get();

/** @param {boolean} on */
export const setSendsOnEnter = (on) => sendsWithEnter.set(on);
