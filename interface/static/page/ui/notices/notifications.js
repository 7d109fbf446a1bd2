/** Notifications of the browser, which need the person's permission, and a page over HTTPS or from localhost. */

import { notifies } from '../../core/browser_storage/storage.js';

export const canNotify = () => 'Notification' in globalThis && globalThis.isSecureContext;

/** Whether the browser has not been asked for the permission yet. */
export const isUndecided = () => canNotify() && globalThis.Notification.permission === 'default';

export const mayNotify = () => canNotify() && globalThis.Notification.permission === 'granted' && notifies.get();

/** Asks the browser for the permission. @returns {Promise<boolean>} whether notifications are on now */
export async function turnOnNotifications() {
  const isGranted = canNotify() && (await globalThis.Notification.requestPermission()) === 'granted';
  notifies.set(isGranted);
  return isGranted;
}

export const turnOffNotifications = () => notifies.set(false);

/**
 * @param {string} title
 * @param {{body: string, tag: string, onClick: () => void}} options of notifications with the same `tag`, the newest is shown
 */
export function notify(title, { body, tag, onClick }) {
  let notification;
  try {
    notification = new globalThis.Notification(title, { body, tag });
  } catch {
    return; // Browsers of phones take notifications from service workers alone.
  }
  notification.addEventListener('click', () => {
    notification.close();
    window.focus();
    onClick();
  });
}
