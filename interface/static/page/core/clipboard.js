/**
 * Copying text, whatever the browser allows: the clipboard API is refused on plain HTTP, in frames and by policy,
 * so that there are further ways, tried in order. The page installs those that need a document.
 */

/** @type {Array<(text: string) => boolean|Promise<boolean>>} */
const fallbacks = [];

/**
 * @param {(text: string) => boolean|Promise<boolean>} way true when the text is on the clipboard; false to let the next
 *   way try. The last way shows the text to the person, who then copies it by hand, and answers false.
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
 * @returns {Promise<boolean>} true: it is on the clipboard. false: it was shown in a field instead.
 */
export async function copyText(text) {
  for (const way of [viaClipboardApi, ...fallbacks]) {
    if (await way(text)) return true;
  }
  return false;
}
