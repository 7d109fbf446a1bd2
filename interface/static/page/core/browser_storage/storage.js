/**
 * The one place that keeps small values in the browser: for the device, or for one window of it. What the browser forbids to
 * keep lives as long as the page. Drafts and what is on its way to the server are kept elsewhere: `core/browser_storage/kept.js`.
 */

function createStorage(area) {
  /** What could not be stored. */
  const unstored = new Map();

  return {
    /** @param {string} key @returns {string|null} */
    get(key) {
      try {
        return unstored.has(key) ? unstored.get(key) : area().getItem(key);
      } catch {
        return null;
      }
    },
    /** @param {string} key @param {string|null} value null to forget it */
    set(key, value) {
      try {
        if (value === null) area().removeItem(key);
        else area().setItem(key, value);
        unstored.delete(key);
      } catch {
        unstored.set(key, value);
      }
    },
  };
}

/** What every window of this browser shares, until it is forgotten. */
export const device = createStorage(() => localStorage);
/** What belongs to one window, and outlives a reload of it. */
export const windowOnly = createStorage(() => sessionStorage);

/**
 * Something that is on or off on this device.
 *
 * @param {string} key
 * @param {boolean} otherwise while nobody has chosen
 * @returns {{get: () => boolean, set: (on: boolean) => void}}
 */
export function rememberedSwitch(key, otherwise) {
  return {
    get() {
      const value = device.get(key);
      return value === null ? otherwise : value === 'on';
    },
    set: (on) => device.set(key, on ? 'on' : 'off'),
  };
}

const DOMAIN = 'anaphora:domain';
/** The domain whose conversations were chosen last, by who has conversations in several. */
export const chosenDomain = { get: () => device.get(DOMAIN), set: (domain) => device.set(DOMAIN, domain) };

/** Whether memories are proposed after every answer, and not only when the person asks for it. */
export const proposesAlways = rememberedSwitch('anaphora:propose-memories', false);

/** Whether links to documents in messages and answers are followed. */
export const followsDocuments = rememberedSwitch('anaphora:use-documents', true);

/** Whether Enter sends what is written, or breaks the line; Ctrl+Enter (⌘ Enter) always sends. */
export const sendsWithEnter = rememberedSwitch('anaphora:send-on-enter', true);

/** Whether single characters, such as `/` and `?`, are shortcuts; who speaks to the computer may not want that. */
export const listensToCharacters = rememberedSwitch('anaphora:character-keys', true);

/** Whether the browser tells of answers that are done while the person is elsewhere; off until somebody chooses it. */
export const notifies = rememberedSwitch('anaphora:notifications', false);

/** Whether notifications were offered, which happens once. */
export const offeredNotifications = rememberedSwitch('anaphora:notifications-offered', false);

/** Whether the browser's speech recognition is offered for messages; off until somebody chooses it. */
export const dictates = rememberedSwitch('anaphora:dictation', false);

/** Whether messages can be read aloud by the browser; off until somebody chooses it. */
export const readsAloud = rememberedSwitch('anaphora:read-aloud', false);

/** Whether the transcript shows activities that are no messages, such as the moves of a game. */
export const showsActivities = rememberedSwitch('anaphora:show-activities', true);
