import { settingsStrings } from '../strings/en/settings.js';

// In this order: most browsers name others as well, to be taken for them.
const BROWSERS = [['Edg/', 'Edge'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chrome'], ['Safari/', 'Safari']];
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
];

const LONGEST = 60;

/**
 * "Firefox on Linux": what people recognise of the long name that a browser gives itself.
 *
 * @param {string} userAgent
 * @returns {string} '' for no name at all
 */
export function deviceName(userAgent) {
  const find = (table) => table.find(([mark]) => userAgent.includes(mark))?.[1];
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)];
  if (browser && system) return settingsStrings.devices.named(browser, system);
  return browser ?? system ?? userAgent.slice(0, LONGEST);
}
