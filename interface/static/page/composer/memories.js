import { bring } from '../core/api.js';
import { icon } from '../ui/icons.js';
import { followsDocuments, rememberedSwitch } from '../core/browser_storage/storage.js';
import { strings } from '../strings/en/conversation.js';
import { excerpt } from '../core/words/excerpt.js';
import { DRAGGED_MEMORIES } from '../memories/memory_model.js';
import { element, setHidden, uniqueId } from '../ui/dom.js';
import { showToast } from '../ui/notices/toast.js';

const words = strings.composer;
const SWITCH_KEY = 'anaphora:use-memories';
const MOST_ATTACHED = 50;

function createSwitch() {
  const setting = rememberedSwitch(SWITCH_KEY, true);
  const button = element('button', { type: 'button', id: uniqueId('use-memories'), class: 'composer-switch', 'aria-label': words.useMemories.name }, icon('lightbulb'));
  const tell = () => {
    button.setAttribute('aria-pressed', String(setting.get()));
    button.title = setting.get() ? words.useMemories.on : words.useMemories.off;
    button.firstElementChild.replaceWith(icon(setting.get() ? 'lightbulb' : 'lightbulb-off'));
  };
  button.addEventListener('click', () => {
    setting.set(!setting.get());
    tell();
  });
  tell();
  return { button, isOn: setting.get };
}

/** A memory that goes along: its name leads to it, the cross and Delete take it away. */
function chipFor(claim, { onOpen, onRemove }) {
  const name = element('button', { type: 'button', class: 'claim-chip-name', title: claim.statement, text: `@${claim.friendly_id}`, onclick: onOpen });
  const label = words.detach(claim.friendly_id);
  const remove = element('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick: onRemove }, icon('x-lg'));
  const statement = element(claim.isDeleted ? 'del' : 'span', { class: 'claim-chip-statement', text: excerpt(claim.statement ?? '', 120) });
  const deleted = claim.isDeleted ? element('span', { class: 'claim-chip-note', text: words.attachedDeleted }) : null;
  const chip = element('li', { class: 'composer-chip claim-chip' }, icon('lightbulb'), name, statement, deleted, remove);
  chip.addEventListener('keydown', (event) => {
    if (event.key !== 'Delete' && event.key !== 'Backspace') return;
    event.preventDefault();
    onRemove();
  });
  return chip;
}

/**
 * What of the person's memories goes with a message: whether they are searched, and which are attached ("Use now").
 *
 * @param {{place: HTMLElement, buttons: HTMLElement, input: HTMLElement, page: object, onChange: () => void}} options `place`
 *   for the chips, `buttons` for the switch; `onChange` is called when something was attached or taken away
 */
export function createMemories({ place, buttons, input, page, onChange }) {
  const list = element('ul', { class: 'claim-chips', 'aria-label': words.attached, hidden: true });
  const { button, isOn } = createSwitch();
  let attached = [];
  /** Takes away what was said last of a memory that is not attached: of many at once, that is said once. */
  let takeBack = () => {};
  place.append(list);
  buttons.prepend(button);

  function set(claims) {
    attached = claims;
    setHidden(list, claims.length === 0);
    list.replaceChildren(...claims.map((claim, position) => chipFor(claim, {
      onOpen: () => page.events.emit('memories:open', { kind: 'claim', id: claim.claim_id }),
      onRemove: () => remove(position),
    })));
  }

  function remove(position) {
    set(attached.toSpliced(position, 1));
    onChange();
    const next = list.children[Math.min(position, attached.length - 1)];
    (next?.querySelector('.icon-button') ?? input).focus();
  }

  function attach({ claim_id, friendly_id, statement }) {
    const has = attached.some((claim) => claim.claim_id === claim_id);
    if (has || attached.length >= MOST_ATTACHED) {
      takeBack();
      takeBack = showToast(has ? words.attachedAlready(friendly_id) : words.tooManyAttached(MOST_ATTACHED));
      return;
    }
    set([...attached, { claim_id, friendly_id, statement }]);
    page.announce(words.attachedNow(friendly_id));
    onChange();
  }

  /** Memories that are dragged onto the composer go with the message. */
  function receive() {
    const form = input.closest('form');
    const mark = (on) => form.classList.toggle('takes-memories', on);
    form.addEventListener('dragover', (event) => {
      if (!event.dataTransfer.types.includes(DRAGGED_MEMORIES)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      mark(true);
    });
    form.addEventListener('dragleave', (event) => !form.contains(event.relatedTarget) && mark(false));
    form.addEventListener('drop', (event) => {
      mark(false);
      const dragged = event.dataTransfer.getData(DRAGGED_MEMORIES);
      if (!dragged) return;
      event.preventDefault();
      JSON.parse(dragged).forEach(attach);
      input.focus();
    });
  }

  receive();
  /** Chips show what their memories say now, also where somebody changed that elsewhere. */
  async function follow(changes) {
    const isTouched = ({ claim_id: id }) => changes.some(({ id: changed, fields }) => changed === id || fields.claim_ids?.includes(id));
    const found = await Promise.all(attached.filter(isTouched).map(({ claim_id: id }) => page.api.get(`/pkb/claims/${encodeURIComponent(id)}`, {}, { quiet: true })));
    const now = new Map(found.map(({ claim }) => [claim.claim_id, claim]));
    const renewed = attached.map((claim) => {
      if (!now.has(claim.claim_id)) return claim;
      const { claim_id, friendly_id, statement, status } = now.get(claim.claim_id);
      return { claim_id, friendly_id, statement, ...(status === 'retracted' ? { isDeleted: true } : {}) };
    });
    if (now.size === 0 || JSON.stringify(renewed) === JSON.stringify(attached)) return;
    set(renewed);
    onChange();
  }

  page.store.subscribe(({ told }) => {
    const changes = told.filter(({ kind }) => kind === 'memory');
    // A memory that can't be had now is shown as it was.
    if (changes.length > 0 && attached.length > 0) follow(changes).catch(() => {});
  });
  page.events.on('claim:use-now', attach);
  // What proposes memories comes with the first question for some.
  page.events.on('memory:propose', async (asked) => (await bring(() => import('../memories/proposals/proposals.js'))).proposeMemories(asked, page));

  return {
    attached: () => attached,
    set,
    /** The fields of a message to be sent. */
    payload: () => ({
      checkboxes: { use_pkb: isOn(), ...(followsDocuments.get() ? {} : { use_documents: false }) },
      ...(attached.length > 0 ? { attached_claim_ids: attached.map(({ claim_id: id }) => id) } : {}),
    }),
  };
}
