/**
 * Something that is on or off, as this browser remembers it; where it may not remember, for as long as the page lives.
 *
 * @param {string} key
 * @param {boolean} otherwise while nobody has chosen
 * @returns {{get: () => boolean, set: (on: boolean) => void}}
 */
export function rememberedSwitch(key, otherwise) {
  let chosen = null;

  function kept() {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // Storage is forbidden.
    }
  }

  return {
    get() {
      const value = chosen ?? kept();
      return value === null ? otherwise : value === 'on';
    },
    set(on) {
      chosen = on ? 'on' : 'off';
      try {
        localStorage.setItem(key, chosen);
      } catch {
        // As above.
      }
    },
  };
}

/** Whether memories are proposed after every answer, and not only when the person asks for it. */
export const proposesAlways = rememberedSwitch('anaphora:propose-memories', false);

/** Whether Enter sends what is written, or breaks the line; Ctrl+Enter (⌘ Enter) always sends. */
export const sendsWithEnter = rememberedSwitch('anaphora:send-on-enter', true);
