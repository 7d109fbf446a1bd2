/**
 * The language as the person writes it: with the region that their browser says, where that is of the same language.
 *
 * @param {string} language `en`
 * @returns {string} `en-GB`
 */
export function regional(language) {
  const [main] = language.split('-');
  return (globalThis.navigator?.languages ?? []).find((each) => each.split('-')[0] === main) ?? language;
}

/**
 * @param {string} language `en`
 * @returns {(n: number) => string} writes a number as the language does: `1,200`
 */
export function createNumber(language) {
  // Making a format takes longer than all else that the page does at its beginning, and these are written alike everywhere.
  const isPlain = (n) => Number.isInteger(n) && n >= 0 && n < 1000;
  let numbers = null;
  return (n) => {
    if (isPlain(n)) return String(n);
    numbers ??= new Intl.NumberFormat(regional(language), { maximumFractionDigits: 1 });
    return numbers.format(n);
  };
}

const SMALL = 1;

/**
 * @param {string} language `en`
 * @returns {(amount: number, currency: string) => string} writes a price: `$12.30`, and of small ones as much as says something: `$0.0012`
 */
export function createMoney(language) {
  return (amount, currency) => new Intl.NumberFormat(regional(language), {
    style: 'currency', currency, ...(amount > 0 && amount < SMALL ? { minimumSignificantDigits: 2, maximumSignificantDigits: 2 } : {}),
  }).format(amount);
}

/**
 * Counts things in a language: by its plural rules, with its way of writing numbers.
 *
 * @param {string} language `en`
 * @returns {(n: number, one: string, other: string, further?: Object<string, string>) => string} `count(2, 'day', 'days')` is
 *   `2 days`; `further` has the forms of other plural categories, where the language has them: `{few: …}`
 */
export function createCount(language) {
  let rules = null;
  const number = createNumber(language);
  return (n, one, other, further = {}) => {
    rules ??= new Intl.PluralRules(language);
    const category = rules.select(n);
    return `${number(n)} ${further[category] ?? (category === 'one' ? one : other)}`;
  };
}
