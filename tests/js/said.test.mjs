import assert from 'node:assert/strict';
import { test } from 'node:test';

import { errorText } from '../../interface/static/page/core/api.js';
import { needsFurtherWords, saidText, warningsIn } from '../../interface/static/page/core/words/said.js';
import { AnswerState } from '../../interface/static/page/conversation/turns/answer_model.js';
import { notesOf } from '../../interface/static/page/references/report_model.js';
import { saidWords } from '../../interface/static/page/strings/en/said.js';
import { saidWords as german } from '../../interface/static/page/strings/de/said.js';
import { laterWords } from '../../interface/static/page/strings/de/said_later.js';

/** Runs `job` as a page in German does that has loaded all its words. */
function inGerman(job) {
  const before = { ...saidWords };
  Object.assign(saidWords, german, laterWords);
  try {
    job();
  } finally {
    for (const code of Object.keys(saidWords)) delete saidWords[code];
    Object.assign(saidWords, before);
  }
}

const CUT = { text: 'Cut to 8,000 characters.', said: [{ code: 'cut_to', values: { characters: 8000 } }] };

test('a sentence of the server is said in the language of the page, and without a code as the server says it', () => {
  assert.equal(saidText(CUT.text, CUT.said), CUT.text);
  inGerman(() => {
    assert.equal(saidText(CUT.text, CUT.said), 'Auf 8.000 Zeichen gekürzt.');
    for (const none of [undefined, null, []]) assert.equal(saidText('Stored long ago.', none), 'Stored long ago.');
    assert.equal(saidText('From a newer server.', [{ code: 'unheard_of' }]), 'From a newer server.');
    assert.equal(saidText('From a newer server.', [{ code: 'constructor' }]), 'From a newer server.');
  });
});

test('warnings and refusals are said in the language of the page', () => {
  const answer = { warnings: ['Not all.', 'New.'], warnings_said: [[{ code: 'not_all_messages', values: {} }], []] };
  assert.deepEqual(warningsIn(answer), answer.warnings);
  assert.deepEqual(warningsIn({}), []);
  inGerman(() => {
    assert.deepEqual(warningsIn(answer), ['Von sehr vielen Nachrichten sind nicht alle aufgeführt.', 'New.']);
    const refusal = { code: 'conflict', message: 'Taken.', said: [{ code: 'tool_server_name_taken', values: {} }] };
    assert.equal(errorText(refusal), 'Ein anderer deiner Server heißt schon so.');
  });
});

test('sentences in a row are all said, those of a provider as they are', () => {
  const said = [{ text: 'No more credit.' }, { code: 'ask_to_go_on', values: {} }];
  const text = 'No more credit. Ask the model to go on where it stopped.';
  assert.equal(saidText(text, said), text);
  inGerman(() => assert.equal(saidText(text, said), 'No more credit. Bitte das Modell, dort fortzufahren, wo es aufgehört hat.'));
});

test('progress, notes on references and errors come in the language of the page', () => {
  inGerman(() => {
    const state = new AnswerState();
    state.apply({ seq: 1, status: 'The model is thinking', said: [{ code: 'model_thinking', values: {} }] });
    assert.equal(state.status, 'Das Modell denkt nach');
    const entry = { notes: ['other branch', 'of old'], said: [[{ code: 'other_branch', values: {} }], []] };
    assert.deepEqual(notesOf(entry), ['anderer Zweig', 'of old']);
    assert.deepEqual(notesOf({ notes: ['of old'] }), ['of old']);
    assert.deepEqual(notesOf({}), []);
    const error = { code: 'model_failed', message: 'The model ended …', said: [{ code: 'said_nothing', values: {} }] };
    assert.equal(errorText(error), german.said_nothing);
    assert.equal(errorText({ code: 'model_failed', message: 'It burns.' }), 'It burns.');
  });
});

test('an answer with a code for which the page has no words needs further ones; a text that quotes a code does not', () => {
  const refusal = { code: 'conflict', message: 'Taken.', said: [{ code: 'tag_exists', values: {} }] };
  assert.equal(needsFurtherWords(JSON.stringify(refusal)), true);
  assert.equal(needsFurtherWords(JSON.stringify(refusal, null, 1)), true);
  for (const known of [{ said: [{ code: 'edited', values: {} }] }, { text: JSON.stringify(refusal) }, { code: null }, {}]) {
    assert.equal(needsFurtherWords(JSON.stringify(known)), false);
  }
});
