/** The commands that a message can begin with: `/name` and what follows. */

/** The names of prompts are words of any language. */
const COMMAND = /^\/(\p{L}[\p{L}\p{N}_-]*)(?:\s+([\s\S]*))?$/u;
const ARGUMENT = /^\/([a-z]+)[ \t]+(\S*)$/i;

/**
 * Each with what it takes, and can do without: '' for nothing. `values` are all it can take; `list` names what somebody has to be
 * asked for.
 */
export const COMMANDS = [
  { name: 'title', takes: 'text' },
  { name: 'memory', takes: 'text' },
  { name: 'export', takes: 'format', values: ['markdown', 'html', 'json', 'bundle'] },
  { name: 'search', takes: 'words' },
  { name: 'clear', takes: '' },
  { name: 'fork', takes: '' },
  { name: 'model', takes: 'name', list: 'models' },
  { name: 'temp', takes: '' },
  { name: 'new', takes: '' },
  { name: 'share', takes: '' },
  { name: 'stateless', takes: 'onOrOff', values: ['on', 'off'] },
  { name: 'pin', takes: '' },
  { name: 'archive', takes: '' },
  { name: 'settings', takes: '' },
  { name: 'prompts', takes: '' },
  { name: 'help', takes: '' },
];

/** Commands that the palette has already: shortcuts and the menu of the conversation do the same. */
export const ALSO_ELSEWHERE = new Set(['title', 'export', 'search', 'fork', 'new', 'share', 'stateless', 'pin', 'archive']);

/**
 * @param {typeof COMMANDS[number]} command
 * @param {Object<string, string>} words `composerStrings.commands.takes`
 * @returns {string} how it is written, with what it can do without in square brackets: `/title [text]`
 */
export function usageOf({ name, takes }, words) {
  return takes ? `/${name} [${words[takes]}]` : `/${name}`;
}

/** @param {string} name @returns {typeof COMMANDS[number]|undefined} */
export function commandNamed(name) {
  return COMMANDS.find((command) => command.name === name.toLowerCase());
}

/**
 * @param {string} text
 * @returns {{name: string, rest: string, isKnown: boolean}|null} null where it is no command, such as `/etc/hosts`
 */
export function readCommand(text) {
  if (text.trim() === '/') return { name: '', rest: '', isKnown: false };
  const match = COMMAND.exec(text.trim());
  if (!match) return null;
  const name = match[1].toLowerCase();
  return { name, rest: (match[2] ?? '').trim(), isKnown: commandNamed(name) !== undefined };
}

/**
 * What is wrong with what stands behind a known command, before it is carried out.
 *
 * @param {{name: string, rest: string}} command
 * @returns {null|'none'|'values'} 'none': it takes nothing; 'values': it takes one of its values
 */
export function argumentProblem({ name, rest }) {
  const { takes, values } = commandNamed(name);
  if (rest === '') return null;
  if (takes === '') return 'none';
  return values && !values.includes(rest.toLowerCase()) ? 'values' : null;
}

/**
 * @param {string} query the beginning of a name
 * @returns {typeof COMMANDS} the commands to offer; none when the whole name stands there
 */
export function commandsLike(query) {
  return COMMANDS.filter(({ name }) => name.startsWith(query) && name !== query);
}

/**
 * What is being typed behind a command whose arguments are a closed list.
 *
 * @param {string} text
 * @param {number} caret
 * @returns {null|{kind: 'value'|'model', command: string, start: number, end: number, query: string}}
 */
export function argumentAt(text, caret) {
  const match = ARGUMENT.exec(text.slice(0, caret));
  const command = match && commandNamed(match[1]);
  if (!command?.values && !command?.list) return null;
  const kind = command.values ? 'value' : 'model';
  return { kind, command: command.name, start: caret - match[2].length, end: caret, query: match[2].toLowerCase() };
}

/**
 * @param {{command: string, query: string}} mention
 * @returns {string[]} the values to offer; none when a whole one stands there
 */
export function valuesLike({ command, query }) {
  return commandNamed(command).values.filter((value) => value.startsWith(query) && value !== query);
}
