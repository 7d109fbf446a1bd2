/** Asks which tags several conversations shall have: a box for each tag of any of them, half ticked where only some have it, and a field for others. */

import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';
import { composes } from '../../core/typing.js';
import { labelled, openDialog } from '../../ui/controls/dialog.js';
import { element, uniqueId } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { createTagState, foldedTag, isTooLong, LONGEST_TAG, tagsIn, tagsOfMany } from './tags_model.js';

const words = sidebarStrings.tags;
/** Room for several tags, each of which may be too long. */
const LONGEST = 1000;

/** A box that goes from half ticked, where it was so, over ticked to empty. */
function tagBox({ tag, count, total }) {
  const isPartly = count > 0 && count < total;
  const box = element('input', { type: 'checkbox', class: 'form-check-input' });
  const place = element('span', { class: 'tags-count', text: isPartly ? words.some(count, total) : '' });
  const node = element('label', { class: 'form-check' }, box, element('span', { class: 'form-check-label', dir: 'auto', text: `#${tag}` }), place);
  const state = createTagState({ count, total });

  function show() {
    box.checked = state.isOn() === true;
    box.indeterminate = state.isOn() === null;
    place.hidden = state.isOn() !== null;
  }

  box.addEventListener('change', () => {
    state.step();
    show();
  });
  show();
  return { node, tag, read: () => ({ tag, isOn: state.read() }), tick() { state.tick(); show(); } };
}

/** Existing tags, to complete what is typed. Without them, it is typed in full. */
async function offerKnown(list, ask) {
  const known = await ask().catch(() => []);
  list.replaceChildren(...known.map(({ tag }) => element('option', { value: tag })));
}

/**
 * @param {object[]} conversations
 * @param {() => Promise<Array<{tag: string}>>} askKnown the tags that there are
 * @returns {Promise<Array<{tag: string, isOn: boolean|null}>>} null: it stays as it is with each; none where the dialog was left. Rejects where its
 *   looks can't be loaded
 */
export async function askTags(conversations, askKnown) {
  await addPanelStyle('sidebar/actions/tags');
  const total = conversations.length;
  const boxes = tagsOfMany(conversations).map((each) => tagBox({ ...each, total }));
  const known = element('datalist', { id: uniqueId('tags-known') });
  const field = element('input', { class: 'form-control', type: 'text', maxlength: LONGEST, autocomplete: 'off', list: known.id });
  const rows = element('div', { class: 'tags-rows', role: 'group', 'aria-label': words.list }, ...boxes.map(({ node }) => node));
  const said = element('p', { class: 'visually-hidden', role: 'status' });
  const add = element('button', { class: 'btn btn-quiet', type: 'button', text: words.add, onclick: () => take() });
  const save = element('button', { class: 'btn btn-primary', type: 'submit', text: shellStrings.dialog.save });
  const cancel = element('button', { class: 'btn btn-quiet', type: 'button', text: shellStrings.dialog.cancel, onclick: () => dialog.close(null) });
  const row = labelled(words.label, field, words.hint);
  const problem = element('p', { class: 'field-hint', role: 'alert', hidden: true });
  field.after(add);
  row.append(problem);

  /** A tag that the server would refuse stays where it was written. */
  function tellTooLong(tags) {
    problem.hidden = !tags.some(isTooLong);
    problem.textContent = problem.hidden ? '' : words.tooLong(LONGEST_TAG);
    field.setAttribute('aria-invalid', String(!problem.hidden));
    return !problem.hidden;
  }

  /** What is written becomes ticked boxes. @returns {boolean} whether anything was written */
  function take() {
    const tags = tagsIn(field.value);
    if (tellTooLong(tags)) {
      field.focus();
      return true;
    }
    for (const tag of tags) {
      const there = boxes.find((each) => foldedTag(each.tag) === foldedTag(tag));
      const box = there ?? tagBox({ tag, count: 0, total });
      box.tick();
      if (there) continue;
      boxes.push(box);
      rows.append(box.node);
    }
    if (tags.length) said.textContent = words.added(tags.map((tag) => `#${tag}`).join(', '));
    field.value = '';
    field.focus();
    return tags.length > 0;
  }

  field.addEventListener('input', () => problem.hidden || tellTooLong(tagsIn(field.value)));
  // Enter takes what is written, and where nothing is, saves.
  field.addEventListener('keydown', (event) => event.key === 'Enter' && !composes(event) && take() && event.preventDefault());
  const dialog = openDialog({
    title: words.title(total),
    content: [rows, row, known, said],
    buttons: [cancel, save],
    className: 'tags-dialog',
    onSubmit() {
      take();
      if (problem.hidden) dialog.close(boxes.map((box) => box.read()));
    },
  });
  offerKnown(known, askKnown);
  field.focus();
  return (await dialog.closed) ?? [];
}
