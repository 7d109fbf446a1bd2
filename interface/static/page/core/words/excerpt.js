/**
 * @param {string} text
 * @param {number} [length]
 * @returns {string} the beginning of a text on one line
 */
export function excerpt(text, length = 200) {
  const line = text.replace(/\s+/g, ' ').trim();
  const characters = Array.from(line.slice(0, length * 2 + 2));
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : line;
}
