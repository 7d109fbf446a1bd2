/** The commands that a message can begin with: `/name` and what follows. */

const COMMAND = /^\/([a-z]+)(?:\s+([\s\S]*))?$/i;

/** Each with what it takes, in square brackets where it can do without. */
export const COMMANDS = [
  { name: 'memory', takes: '[text]' },
  { name: 'search', takes: '[words]' },
  { name: 'help', takes: '' },
];

/**
 * @param {string} text
 * @returns {{name: string, rest: string, isKnown: boolean}|null} null where it is no command, such as `/etc/hosts`
 */
export function readCommand(text) {
  const match = COMMAND.exec(text.trim());
  if (!match) return null;
  const name = match[1].toLowerCase();
  return { name, rest: (match[2] ?? '').trim(), isKnown: COMMANDS.some((command) => command.name === name) };
}

/**
 * @param {string} query the beginning of a name
 * @returns {typeof COMMANDS} the commands to offer; none when the whole name stands there
 */
export function commandsLike(query) {
  return COMMANDS.filter(({ name }) => name.startsWith(query) && name !== query);
}
