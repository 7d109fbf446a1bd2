/**
 * Copying text, whatever the browser allows: the clipboard API is refused on plain HTTP, in frames and by policy,
 * so that there are further ways, tried in order. The page installs those that need a document.
 */

/** @type {Array<(text: string, how: {isShown: boolean}) => boolean|Promise<boolean>>} */
const fallbacks = [];

/**
 * @param {(text: string, how: {isShown: boolean}) => boolean|Promise<boolean>} way true when the text is on the clipboard; false to let the next
 *   way try. The last way shows the text to the person, unless it is shown already; who then copies it by hand, and answers false.
 */
export function addCopyFallback(way) {
  fallbacks.push(way);
}

async function viaClipboardApi(text) {
  const clipboard = globalThis.navigator?.clipboard;
  if (!clipboard?.writeText) return false;
  try {
    await clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string} text
 * @param {{isShown?: boolean}} [how] `isShown`: it stands there to be copied by hand
 * @returns {Promise<boolean>} true: it is on the clipboard. false: it was shown in a field instead.
 */
export async function copyText(text, { isShown = false } = {}) {
  for (const way of [viaClipboardApi, ...fallbacks]) {
    if (await way(text, { isShown })) return true;
  }
  return false;
}
