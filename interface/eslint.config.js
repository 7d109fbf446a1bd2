// One job: find mistakes. Layout is left to the authors.
const browser = [
  'AbortController', 'AbortSignal', 'indexedDB', 'IDBKeyRange', 'Blob', 'CSS', 'CustomEvent', 'DOMParser', 'DOMRect', 'DOMException', 'Event', 'EventTarget', 'FormData', 'Headers',
  'HTMLElement', 'Element', 'Node', 'NodeFilter', 'IntersectionObserver', 'MutationObserver', 'ResizeObserver', 'Response', 'Request',
  'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams', 'XMLHttpRequest', 'XMLSerializer', 'cancelAnimationFrame', 'clearInterval',
  'clearTimeout', 'console', 'crypto', 'document', 'fetch', 'getComputedStyle', 'getSelection', 'history', 'localStorage',
  'location', 'matchMedia', 'navigator', 'performance', 'queueMicrotask', 'requestAnimationFrame', 'requestIdleCallback',
  'sessionStorage', 'setInterval', 'setTimeout', 'structuredClone', 'window', 'globalThis', 'MessageChannel', 'Image', 'File',
  'BroadcastChannel', 'caches', 'ReadableStream', 'Range', 'addEventListener', 'removeEventListener', 'dispatchEvent', 'innerHeight', 'innerWidth', 'parent',
  'NodeList', 'CSSStyleSheet', 'HTMLDialogElement', 'HTMLButtonElement', 'HTMLInputElement', 'HTMLTextAreaElement',
  'KeyboardEvent', 'MouseEvent', 'Intl',
];
const node = ['process', 'Buffer', 'global'];
const readable = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

const mistakes = {
  'array-callback-return': 'error', 'complexity': ['error', 12], 'consistent-return': 'error', 'default-case-last': 'error',
  'eqeqeq': ['error', 'always', { null: 'ignore' }], 'max-lines': ['error', { max: 400, skipComments: true }],
  'no-alert': 'error', 'no-case-declarations': 'error', 'no-cond-assign': 'error', 'no-const-assign': 'error',
  'no-console': ['error', { allow: ['error', 'warn'] }], 'no-constant-condition': 'error', 'no-debugger': 'error',
  'no-dupe-args': 'error', 'no-dupe-class-members': 'error', 'no-dupe-else-if': 'error', 'no-dupe-keys': 'error',
  'no-duplicate-imports': 'error', 'no-empty': 'error', 'no-eval': 'error', 'no-ex-assign': 'error',
  'no-fallthrough': 'error', 'no-implied-eval': 'error', 'no-import-assign': 'error', 'no-inner-declarations': 'error',
  'no-irregular-whitespace': 'error', 'no-loss-of-precision': 'error', 'no-misleading-character-class': 'error',
  'no-new-func': 'error', 'no-prototype-builtins': 'error', 'no-redeclare': 'error', 'no-return-assign': 'error',
  'no-script-url': 'error', 'no-self-assign': 'error', 'no-self-compare': 'error', 'no-shadow-restricted-names': 'error',
  'no-sparse-arrays': 'error', 'no-this-before-super': 'error', 'no-throw-literal': 'error', 'no-undef': 'error',
  'no-unreachable': 'error', 'no-unsafe-finally': 'error', 'no-unsafe-negation': 'error', 'no-unused-expressions': 'error',
  'no-unused-private-class-members': 'error', 'no-unused-vars': 'error', 'no-use-before-define': ['error', { functions: false, classes: false, variables: false }],
  'no-useless-assignment': 'error', 'no-useless-catch': 'error', 'no-useless-escape': 'error', 'no-useless-return': 'error',
  'no-var': 'error', 'object-shorthand': 'error', 'prefer-const': 'error', 'prefer-promise-reject-errors': 'error',
  'radix': 'error', 'require-yield': 'error', 'use-isnan': 'error', 'valid-typeof': 'error',
};

// Text goes in as text: the places that may set markup are these, by name.
const inertText = {
  'no-restricted-properties': ['error', ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'write'].map((property) => ({
    property, message: 'Text goes in as text (textContent, append); Markdown goes through markdown/render.js.',
  }))],
};

// Of a part that does not come, browsers say an address: `bring` says that the server can't be reached.
const brought = {
  selector: 'ImportExpression:not(CallExpression[callee.name="bring"] ImportExpression)', message: 'Load parts through bring() of core/api.js.',
};

// Words that people read are in strings/, where each language has its own. Errors that nobody is shown are thrown in English.
const WORDED = '/^(text|title|label|placeholder|alt|aria-label|confirmLabel|actionLabel|textContent)$/';
const SENTENCE = '/^\\p{Lu}\\p{Ll}+ \\p{L}/u';
const UNSHOWN = ['NewExpression', 'CallExpression[callee.type="Super"]', 'CallExpression[callee.object.name="console"]'];
const saidBy = (kind) => UNSHOWN.map((unshown) => `:not(${unshown} ${kind})`).join('');
const wordless = [
  `Literal[value=${SENTENCE}]${saidBy('Literal')}`,
  `TemplateElement[value.cooked=${SENTENCE}]${saidBy('TemplateElement')}`,
  ...['key.name', 'key.value'].map((key) => `Property[${key}=${WORDED}] > Literal.value[value=/\\p{L}{2}/u]`),
  `AssignmentExpression[left.property.name=${WORDED}] > Literal.right[value=/\\p{L}{2}/u]`,
  `CallExpression[callee.property.name="setAttribute"][arguments.0.value=${WORDED}] > Literal:nth-child(2)[value=/\\p{L}{2}/u]`,
].map((selector) => ({ selector, message: 'Words that people read belong into strings/en/<feature>.js and the other languages.' }));
// Names of systems, and what is written into a message, are the same in each language.
const WORDED_FILES = ['static/page/strings/**', 'static/page/settings/device_name_model.js', 'static/page/composer/attachments/attachments_model.js', 'static/page/core/words/agent_name.js', 'static/page/core/words/conversation_title.js'];

// No view reads another's DOM: a part gets its elements from whoever makes it, and tells others by events and the store.
const LOOK_UP = 'CallExpression[callee.object.name="document"][callee.property.name=/^(getElement|querySelector)/]';
const ownElements = { selector: LOOK_UP, message: 'Work on your own container; tell other parts by events (core/events.js) and the store.' };
const othersElements = {
  selector: `${LOOK_UP} > Literal[value=/^[#.]?(chatView|chat-view|composer|conversation-|send-|rail|find-|memories|search-|documents|announcer)/]`,
  message: ownElements.message,
};
// These have elements of their own in the templates.
const ROOTS = ['static/page/app/**', 'static/page/ui/**', 'static/page/settings/**', 'static/page/sidebar/**', 'static/page/conversation/sharing/shared_page.js'];

// The page's layers: core and ui import no feature. Models run without a DOM, under Node's test runner too.
const FEATURE = '/(app|markdown|references|conversation|composer|sidebar|memories|documents|proposals|search|settings)/';
const MODELS = ['static/page/**/*_model.js', 'static/page/**/api.js', 'static/page/**/*_api.js', 'static/page/references/grammar.js', 'static/page/markdown/lexer.js'];

export default [
  { ignores: ['node_modules/', 'static/vendor/', 'static/built/'] },
  {
    files: ['static/page/**/*.js'],
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: readable(browser) },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: { ...mistakes, ...inertText, 'no-restricted-syntax': ['error', brought, ...wordless, ownElements] },
  },
  {
    files: ROOTS,
    rules: { 'no-restricted-syntax': ['error', brought, ...wordless, othersElements] },
  },
  {
    files: ['static/page/app/main.js', 'static/page/conversation/sharing/shared_page.js'],
    rules: { 'no-restricted-syntax': ['error', brought] },
  },
  {
    files: WORDED_FILES,
    rules: { 'no-restricted-syntax': ['error', brought, ownElements] },
  },
  {
    files: MODELS,
    rules: { 'no-restricted-globals': ['error', 'document', 'window', 'fetch', 'localStorage'] },
  },
  {
    files: ['static/page/**/*.js'],
    ignores: [...MODELS, 'static/page/core/**', 'static/page/strings/**'],
    languageOptions: { globals: readable(['jQuery', '$']) },
    rules: { 'no-restricted-globals': ['error', { name: 'fetch', message: 'core/api.js is the one place that calls the server.' }] },
  },
  {
    files: ['static/page/core/**/*.js', 'static/page/ui/**/*.js', 'static/page/strings/**/*.js'],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ regex: FEATURE, message: 'core, ui and strings know no feature.' }] }] },
  },
  {
    files: ['static/page/core/**/*.js'],
    rules: { 'no-restricted-globals': ['error', 'document', 'window'], 'no-restricted-imports': ['error', { patterns: [{ regex: `${FEATURE}|/ui/`, message: 'core knows no feature and no view.' }] }] },
  },
  {
    files: ['static/service_worker.js'],
    languageOptions: { ecmaVersion: 2024, sourceType: 'script', globals: readable(['self', 'caches', 'fetch', 'URL']) },
    rules: mistakes,
  },
  {
    files: ['*.js'],
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: readable(node) },
    rules: mistakes,
  },
];
