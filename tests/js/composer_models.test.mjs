import assert from 'node:assert/strict';
import test from 'node:test';

import { composerStrings } from '../../interface/static/page/strings/en/composer.js';
import {
  cleanName, fileBlock, isForServer, LONG_PASTE, MOST_FILES, partsOf, readTextFile, RefusedFileError, storedOf, withFiles,
  inPlace, withPlace,
} from '../../interface/static/page/composer/attachments/attachments_model.js';
import { argumentAt, argumentProblem, COMMANDS, valuesLike } from '../../interface/static/page/composer/commands/commands_model.js';
import {
  aboutChoice, answeringModel, choiceGroups, choicesCalled, chosenModel, isUnderWay, mustBeFetched, shortProgress,
} from '../../interface/static/page/composer/models/choices_model.js';

const words = composerStrings.models;
const file = (name, bytes) => ({ name, size: bytes.length, arrayBuffer: async () => Uint8Array.from(bytes).buffer });
const textFile = (name, text) => file(name, [...new TextEncoder().encode(text)]);
const choice = (id, more = {}) => ({
  id, name: id.split(':').at(-1), kind: id.includes(':') ? id.split(':')[0] : 'openai', role: null,
  state: { phase: 'ready', progress: 1, detail: '' }, size_bytes: null, context_window: null, ...more,
});
const MODELS = {
  choices: [
    choice('main', { name: 'gpt-4o', role: 'main' }),
    choice('embedded:qwen-big', { state: { phase: 'absent', progress: null, detail: '' }, size_bytes: 1_117_320_768, context_window: 8192 }),
    choice('embedded:qwen-small', { state: { phase: 'fetching', progress: 0.439, detail: '' } }),
    choice('openai:gpt-5'),
  ],
  providers: [{ kind: 'openai', phase: 'ready', detail: '' }],
};

test('every command is described', () => {
  assert.deepEqual(COMMANDS.map(({ name }) => name).toSorted(), Object.keys(composerStrings.commands.about).toSorted());
});

test('what stands behind a command is checked before it is carried out', () => {
  assert.equal(argumentProblem({ name: 'export', rest: 'HTML' }), null);
  assert.equal(argumentProblem({ name: 'export', rest: 'poem' }), 'values');
  assert.equal(argumentProblem({ name: 'stateless', rest: '' }), null);
  assert.equal(argumentProblem({ name: 'pin', rest: 'it' }), 'none');
  assert.equal(argumentProblem({ name: 'memory', rest: 'I like tea' }), null);
});

test('arguments are completed where there is a closed list of them', () => {
  assert.deepEqual(argumentAt('/export ma', 10), { kind: 'value', command: 'export', start: 8, end: 10, query: 'ma' });
  assert.equal(argumentAt('/model qw', 9).kind, 'model');
  for (const text of ['/export', '/memory te', '/export a b', 'see /export ma']) assert.equal(argumentAt(text, text.length), null, text);
  assert.deepEqual(valuesLike({ command: 'export', query: '' }), ['markdown', 'html', 'json', 'bundle']);
  assert.deepEqual(valuesLike({ command: 'stateless', query: 'o' }), ['on', 'off']);
  assert.deepEqual(valuesLike({ command: 'stateless', query: 'on' }), []);
});

test('the model that answers is the chosen one, and the server\'s own where that is gone', () => {
  assert.deepEqual([answeringModel(MODELS, null).name, answeringModel(MODELS, null).isGone], ['gpt-4o', false]);
  assert.equal(answeringModel(MODELS, 'openai:gpt-5').choice.id, 'openai:gpt-5');
  assert.deepEqual([answeringModel(MODELS, 'openai:gone').name, answeringModel(MODELS, 'openai:gone').isGone], ['gpt-4o', true]);
  const untold = { ...MODELS, providers: [{ kind: 'openai', phase: 'loading', detail: '' }] };
  assert.deepEqual([answeringModel(untold, 'openai:gone').name, answeringModel(untold, 'openai:gone').isGone], ['gone', false]);
});

test('models are listed by where they run, the server\'s own first, each with its state', () => {
  assert.deepEqual(choiceGroups(MODELS).map(({ kind, choices }) => [kind, choices.length]), [['own', 1], ['embedded', 2], ['openai', 1]]);
  const [main, big, small] = MODELS.choices;
  assert.equal(aboutChoice(main, words), 'main model · ready');
  assert.equal(aboutChoice(big, words), 'not fetched yet, 1.1 GB · 8k context');
  assert.equal(aboutChoice(small, words), 'being fetched: 43\u00a0%');
  assert.equal(aboutChoice({ ...main, state: { phase: 'failed', progress: null, detail: 'No room.' } }, words), 'main model · not available · No room.');
  assert.deepEqual([main, big, small].map(mustBeFetched), [false, true, false]);
  assert.deepEqual([main, big, small].map(isUnderWay), [false, false, true]);
  assert.deepEqual([shortProgress(main, words), shortProgress(small, words)], ['', '43\u00a0%']);
});

test('a model is found by its name, and by a part that it has alone', () => {
  assert.deepEqual(choicesCalled(MODELS, 'qwen').map(({ id }) => id), ['embedded:qwen-big', 'embedded:qwen-small']);
  assert.deepEqual(choicesCalled(MODELS, 'GPT-5').map(({ id }) => id), ['openai:gpt-5']);
  assert.deepEqual(choicesCalled(MODELS, 'main').map(({ id }) => id), ['main']);
  assert.deepEqual(choicesCalled(MODELS, 'llama'), []);
});

test('a choice is one of a conversation\'s settings', () => {
  assert.equal(chosenModel({ model_overrides: { main: 'openai:x' } }), 'openai:x');
  for (const settings of [undefined, {}, { model_overrides: { main: 3 } }, { model_overrides: { main: 'main' } }]) assert.equal(chosenModel(settings), null);
});

test('a file is text by what is in it, whatever its name', async () => {
  assert.deepEqual(await readTextFile(textFile('a.bin', 'one\r\ntwo\n'), { most: 100 }), { name: 'a.bin', text: 'one\ntwo\n' });
  const reasonOf = (wanted, most = 10) => readTextFile(wanted, { most }).then(() => null, (error) => error instanceof RefusedFileError && error.reason);
  assert.equal(await reasonOf(file('a.txt', [0xff, 0xfe, 0x41])), 'notText');
  assert.equal(await reasonOf(file('a.txt', [0x41, 0])), 'notText');
  assert.equal(await reasonOf(textFile('a.txt', ' \n')), 'empty');
  assert.equal(await reasonOf(textFile('a.txt', 'x'.repeat(11))), 'tooBig');
  assert.equal(await reasonOf({ name: 'a', size: 1e9, arrayBuffer: () => assert.fail('it need not be read') }), 'tooBig');
  assert.equal(await reasonOf({ name: 'a', size: 1, arrayBuffer: () => Promise.reject(new Error('gone')) }), 'unreadable');
  assert.ok(MOST_FILES > 1 && LONG_PASTE >= 4000);
});

test('a file stands in the message as a block that nothing in it ends', () => {
  assert.equal(fileBlock({ name: 'a.py', text: 'x = 1\n' }), 'Attached file `a.py`:\n\n```py\nx = 1\n```');
  assert.equal(fileBlock({ name: 'README', text: '````\nin\n````' }), 'Attached file `README`:\n\n`````\n````\nin\n````\n`````');
  assert.equal(withFiles('Look ', [{ name: 'a', text: '1' }]), 'Look\n\nAttached file `a`:\n\n```\n1\n```');
  assert.equal(withFiles('', [{ name: 'a', text: '1' }]), 'Attached file `a`:\n\n```\n1\n```');
  assert.equal(withFiles('as typed ', []), 'as typed ');
  assert.equal(cleanName('a`b\n# c'), 'a b # c');
  assert.equal(cleanName('\n'), 'file');
});

test('what is no text, or too long for a message, is stored by the server; a small PDF is no text', async () => {
  const file = (content) => ({ name: 'x', size: content.length, arrayBuffer: async () => new TextEncoder().encode(content).buffer });
  const refused = (content) => readTextFile(file(content), { most: 20 }).then(() => null, (error) => error);
  assert.equal(isForServer(await refused('%PDF-1.4 text')), true);
  assert.equal(isForServer(await refused('x'.repeat(30))), true);
  assert.equal(isForServer(await refused('  ')), false);
  assert.equal(isForServer(undefined), false);
});

test('stored files are named by their ids and stand as parts behind the words', () => {
  const stored = { attachment_id: 'a1', name: 'photo.jpg', kind: 'image', width: 20, height: 40 };
  const files = [{ name: 'notes.md', text: 'x' }, { name: 'photo.jpg', stored }, { name: 'report.pdf', stored: { attachment_id: 'a2', name: 'report.pdf', kind: 'pdf', pages: 2 } }];
  assert.deepEqual(storedOf(files).map(({ attachment_id: id }) => id), ['a1', 'a2']);
  assert.deepEqual(partsOf(files, 5), [
    { id: 1, at: 5, kind: 'image', attachment_id: 'a1', name: 'photo.jpg', width: 20, height: 40 },
    { id: 2, at: 5, kind: 'file', attachment_id: 'a2', name: 'report.pdf', pages: 2 },
  ]);
  assert.equal(withFiles('Look', files.slice(1)), 'Look');
  assert.equal(withFiles(' ', files.slice(1)), '');
  assert.match(withFiles('Look', files), /^Look\n\nAttached file `notes.md`:/);
});

test('files are numbered in the order in which they were chosen, whichever upload ends first', () => {
  const one = withPlace({ name: 'one' }, []);
  const two = withPlace({ name: 'two' }, [one]);
  assert.deepEqual(inPlace([{ name: 'text' }, two, one]).map(({ name }) => name), ['text', 'one', 'two']);
});
