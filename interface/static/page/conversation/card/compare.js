/** All answers to one question beside each other, where there is room, else one below the other. */

import { messageActionStrings } from '../../strings/en/message_actions.js';
import { strings } from '../../strings/en/conversation.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { decorateReferences } from '../../references/chips.js';
import { openDialog } from '../../ui/controls/dialog.js';
import { element, inRow, uniqueId } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { MessageContent } from './content/content.js';

const words = messageActionStrings.compare;

/** How an answer ended that did not end well. */
const endingOf = (status) => (['cancelled', 'interrupted', 'failed'].includes(status) ? strings.answer[status] : '');

function headOf({ number, model, created_at: at, chosen }, total) {
  return element('header', { class: 'compared-head' },
    element('h3', { class: 'compared-place', id: uniqueId('compared'), text: words.place(number, total) }),
    element('span', { class: 'compared-about' }, model ? `${model} · ` : '', element('time', { datetime: at, title: fullTime(at), text: shortTime(at) })),
    chosen ? element('span', { class: 'compared-shown', text: words.shown }) : null);
}

/**
 * @param {object} message an answer that was made again
 * @param {object} page what cards share
 * @param {() => boolean} isShown whether it still is what the person looks at, once it was loaded
 * @returns {Promise<void>} once they are shown; rejects where they can't be loaded
 */
export async function compareVariants(message, page, isShown) {
  const [variants] = await Promise.all([page.api.listVariants(message.message_id), addPanelStyle('conversation/card/compare')]);
  if (!isShown()) return;
  // A reference leads elsewhere, and what is over the page goes.
  const leaving = (act) => (...given) => {
    dialog.close();
    return act(...given);
  };
  const beyond = { ...page, goTo: leaving(page.goTo), events: { ...page.events, emit: leaving(page.events.emit) } };
  const decorate = (node, raw) => decorateReferences(node, raw, { entries: message.references ?? [], ...beyond });
  const contents = [];

  function column(variant) {
    const body = element('div', { class: 'message-content' });
    const content = new MessageContent(body, { typed: false, api: page.api, decorate });
    contents.push(() => content.show(variant.text, variant.parts));
    const head = headOf(variant, variants.length);
    const use = variant.chosen ? null : element('button', {
      type: 'button', class: 'btn btn-sm btn-quiet', text: words.use, ...inRow(words.use, words.place(variant.number, variants.length)),
      onclick() {
        dialog.close();
        page.onAction('chooseVariant', message, variant.number);
      },
    });
    head.append(use ?? '');
    const ending = endingOf(variant.status);
    const isEmpty = !variant.text.trim() && variant.parts.length === 0;
    const notes = [isEmpty ? words.empty : '', ending].filter(Boolean).map((text) => element('p', { class: 'compared-note', text }));
    return element('article', { class: 'compared', 'aria-labelledby': head.firstElementChild.id }, head, body, ...notes);
  }

  const close = element('button', { type: 'button', class: 'btn btn-quiet', text: words.close, onclick: () => dialog.close() });
  // What scrolls can be reached by keys.
  const list = element('div', { class: 'compared-list', role: 'group', tabindex: '0', 'aria-label': words.list }, ...variants.map(column));
  const dialog = openDialog({ title: words.title(variants.length), content: [list], buttons: [close], className: 'compare-dialog' });
  contents.forEach((show) => show());
  list.focus();
}
