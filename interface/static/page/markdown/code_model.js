/** What follows from code and tables alone: names of files, CSV. */

const ENDINGS = {
  bash: 'sh', c: 'c', cpp: 'cpp', csharp: 'cs', css: 'css', csv: 'csv', diff: 'diff', go: 'go', html: 'html', java: 'java', javascript: 'js', js: 'js',
  json: 'json', jsx: 'jsx', kotlin: 'kt', latex: 'tex', lua: 'lua', markdown: 'md', md: 'md', mermaid: 'mmd', perl: 'pl', php: 'php', py: 'py', python: 'py',
  r: 'r', ruby: 'rb', rust: 'rs', sh: 'sh', shell: 'sh', sql: 'sql', svg: 'svg', swift: 'swift', toml: 'toml', ts: 'ts', tsx: 'tsx', typescript: 'ts',
  xml: 'xml', yaml: 'yml', yml: 'yml',
};
const PREVIEWED = new Set(['html', 'svg']);

/** @param {string} language of a code block @returns {string} the name of the file that it is saved as */
export function fileNameOf(language) {
  const name = language.toLowerCase();
  if (name === 'dockerfile' || name === 'makefile') return name === 'makefile' ? 'Makefile' : 'Dockerfile';
  return `code.${Object.hasOwn(ENDINGS, name) ? ENDINGS[name] : 'txt'}`;
}

/** @param {string} language @returns {boolean} whether it can be looked at as a page or a picture */
export function isPreviewed(language) {
  return PREVIEWED.has(language.toLowerCase());
}

/** Of a cell that a spreadsheet would take for a formula. */
const FORMULA = /^[=+@\t\r]|^-(?![\d.])/;

function csvCell(text) {
  const plain = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

/** @param {string[][]} rows @returns {string} as RFC 4180 has it; what a spreadsheet would run is text */
export function csvOf(rows) {
  return rows.map((row) => row.map(csvCell).join(',')).join('\r\n');
}
