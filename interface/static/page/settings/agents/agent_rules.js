/** What the inbox of an agent takes: a row for each rule, in the form of the agent. */

import { settingsStrings } from '../../strings/en/settings.js';
import { bring } from '../../core/api.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element } from '../../ui/dom.js';
import { withGone } from './agents_model.js';

const words = settingsStrings.agents.rules;

/**
 * @param {HTMLElement} place
 * @param {{api: object, add: HTMLButtonElement, onChange: () => void}} options `add` makes a further row
 */
export function mountRules(place, { api, add, onChange }) {
  /** What there is to choose from, as `activityKinds` says it. */
  let kinds = [];

  function kindField(chosen) {
    const offered = withGone(kinds.map(({ kind }) => kind), chosen ? [chosen] : []);
    const options = offered.map(({ name, isGone }) => {
      const label = kinds.find(({ kind }) => kind === name)?.label ?? name;
      return element('option', { value: name, text: isGone ? settingsStrings.agents.gone(label) : label });
    });
    const field = element('select', { class: 'form-select', 'data-rule': 'kind', 'aria-label': words.kind }, ...options);
    if (chosen) field.value = chosen;
    return field;
  }

  /** A button that says which conversation the rule is for, and lets another one be chosen. */
  function roomField(room, title) {
    const button = element('button', { type: 'button', class: 'form-select agent-rule-room', 'data-rule': 'room' });

    function show({ conversation_id: id, title: name }) {
      const text = id ? name : words.everywhere;
      Object.assign(button.dataset, { room: id ?? '', title: id ? name : '' });
      button.replaceChildren(element('span', { class: 'visually-hidden', text: `${words.room}: ` }), element('span', { dir: 'auto', text }));
      button.title = text;
    }

    async function choose() {
      const { chooseConversation } = await bring(() => import('../../references/choose_conversation.js'));
      const chosen = await chooseConversation(api, { title: words.chooseRoom, none: words.everywhere });
      if (!chosen) return;
      show(chosen);
      nameControls(button.closest('li'));
      onChange();
    }

    button.addEventListener('click', () => attempt(choose, { failed: settingsStrings.notDone }));
    show({ conversation_id: room || null, title: title || room });
    return button;
  }

  /** The check box and the button of a rule say of which one they are. */
  function nameControls(item) {
    const part = (name) => item.querySelector(`[data-rule=${name}]`);
    const rule = `${part('kind').selectedOptions[0]?.textContent ?? ''}, ${part('room').title}`;
    part('agents').setAttribute('aria-label', `${words.fromAgents}: ${rule}`);
    part('remove').setAttribute('aria-label', `${words.remove}: ${rule}`);
  }

  function row({ kind, room, title, fromAgents }) {
    const box = element('input', { class: 'form-check-input', type: 'checkbox', 'data-rule': 'agents' });
    box.checked = fromAgents;
    const item = element(
      'li', { class: 'agent-rule' }, kindField(kind), roomField(room, title),
      element('label', { class: 'form-check' }, box, element('span', { class: 'form-check-label', text: words.fromAgents })),
      element('button', { type: 'button', class: 'btn btn-quiet', 'data-rule': 'remove', text: words.remove, onclick: () => remove(item) }),
    );
    nameControls(item);
    item.addEventListener('change', () => nameControls(item));
    return item;
  }

  function remove(item) {
    const next = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    (next?.querySelector('select') ?? add).focus();
    onChange();
  }

  add.addEventListener('click', () => {
    const item = row({ kind: '', room: '', fromAgents: false });
    place.append(item);
    item.querySelector('select').focus();
    onChange();
  });

  return {
    offer(offered) {
      kinds = offered;
    },
    show(rules) {
      place.replaceChildren(...rules.map(row));
    },
    read: () => [...place.querySelectorAll('.agent-rule')].map((item) => ({
      kind: item.querySelector('[data-rule=kind]').value,
      room: item.querySelector('[data-rule=room]').dataset.room,
      title: item.querySelector('[data-rule=room]').dataset.title,
      fromAgents: item.querySelector('[data-rule=agents]').checked,
    })),
  };
}
