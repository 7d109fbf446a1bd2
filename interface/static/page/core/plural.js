/**
 * Counts things in a language: by its plural rules, with its way of writing numbers.
 *
 * @param {string} language `en`
 * @returns {(n: number, one: string, other: string, further?: Object<string, string>) => string} `count(2, 'day', 'days')` is
 *   `2 days`; `further` has the forms of other plural categories, where the language has them: `{few: …}`
 */
export function createCount(language) {
  const rules = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  return (n, one, other, further = {}) => {
    const category = rules.select(n);
    return `${numbers.format(n)} ${further[category] ?? (category === 'one' ? one : other)}`;
  };
}
