/** The person's agents: a list, the form of one of them, and a message to try it with. */

import { agentName } from '../../core/words/agent_name.js';
import { settingsStrings } from '../../strings/en/settings.js';
import { answerSettingsStrings } from '../../strings/en/answer_settings.js';
import { MarkdownView } from '../../markdown/view.js';
import { attempt } from '../../ui/notices/attempts.js';
import { confirmAction } from '../../ui/controls/dialog.js';
import { keepBoth } from '../../ui/controls/kept_fields.js';
import { element, replaceWithFocus, setHidden, whenReleased } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';
import { mountInbox } from './agent_inbox.js';
import { mountRules } from './agent_rules.js';
import { activityKinds, bodyOf, formOf, isSameForm, NEW, withGone } from './agents_model.js';
import { createOtherNote } from '../followed_fields.js';
import { fill, onSubmit, record, records } from '../records.js';

const words = settingsStrings.agents;
const toolNames = answerSettingsStrings.tools.names;
const find = (id) => document.getElementById(id);
const keptAs = (id) => `settings:agent:${id}`;
const besideAs = (id) => `${keptAs(id)}:beside`;
const QUESTION = 'settings:agent-question';

/** The fields of the form. `offer` sets what there is to choose from. */
function createFields({ api, onChange }) {
  const [title, slug, told, model, ownTools, tools] =
    ['agent-title', 'agent-slug', 'agent-told', 'agent-model', 'agent-own-tools', 'agent-tools'].map(find);
  const [service, hourlyLimit] = ['agent-service', 'agent-hourly-limit'].map(find);
  const rules = mountRules(find('agent-rules'), { api, add: find('agent-add-rule'), onChange });
  const taken = element('p', { class: 'settings-state is-failed', id: 'agent-slug-taken', role: 'alert', hidden: true });
  slug.after(taken);
  const usualHint = slug.getAttribute('aria-describedby');
  let known = { tools: [], choices: [] };

  function showTaken(isTaken) {
    taken.textContent = isTaken ? words.taken : '';
    setHidden(taken, !isTaken);
    slug.setAttribute('aria-invalid', String(isTaken));
    slug.setAttribute('aria-describedby', isTaken ? `${taken.id} ${usualHint}` : usualHint);
    // The button that was pressed was disabled and lost the focus; whoever types elsewhere meanwhile goes on there.
    if (isTaken && document.activeElement === document.body) slug.focus();
  }

  function modelOption({ name: id, isGone }) {
    const name = known.choices.find((choice) => choice.id === id)?.name ?? id;
    return element('option', { value: id, text: isGone ? words.gone(name) : name });
  }

  function toolBox({ name, isGone }) {
    const box = element('input', { type: 'checkbox', class: 'form-check-input', value: name });
    const label = toolNames[name] ?? name;
    return element('label', { class: 'form-check' }, box, element('span', { class: 'form-check-label', text: isGone ? words.gone(label) : label }));
  }

  slug.addEventListener('input', () => showTaken(false));
  return {
    offer(offered) {
      known = offered;
      rules.offer(offered.kinds);
    },
    show(form, { keepsSlug }) {
      title.value = form.title;
      slug.value = form.slug;
      slug.readOnly = keepsSlug;
      told.value = form.told;
      const models = withGone(known.choices.map(({ id }) => id), form.model ? [form.model] : []);
      model.replaceChildren(element('option', { value: '', text: words.usualModel }), ...models.map(modelOption));
      model.value = form.model;
      ownTools.checked = form.ownTools;
      tools.replaceChildren(...withGone(known.tools.map(({ name }) => name), form.tools).map(toolBox));
      for (const box of tools.querySelectorAll('input')) box.checked = form.tools.includes(box.value);
      service.value = form.service;
      hourlyLimit.value = form.hourlyLimit;
      rules.show(form.rules);
      showTaken(false);
    },
    read: () => ({
      title: title.value,
      slug: slug.value,
      told: told.value,
      model: model.value,
      ownTools: ownTools.checked,
      tools: [...tools.querySelectorAll('input:checked')].map(({ value }) => value),
      service: service.value,
      hourlyLimit: hourlyLimit.value,
      rules: rules.read(),
    }),
    /** The slug that the server made; whoever writes one now goes on with that. */
    showSlug(made) {
      if (!slug.value && document.activeElement !== slug) slug.value = made;
    },
    focus: () => title.focus(),
    showTaken,
  };
}

function answerNode(text) {
  const node = element('div', { class: 'agent-answer markdown' });
  new MarkdownView(node).setText(text);
  return node;
}

/** A message to the agent that is open, which answers as it is saved. `clear` takes the answer away. */
function mountTrial({ settings, kept, openId }) {
  const [question, answer] = [find('agent-question'), find('agent-answer')];
  question.value = kept.get('form', QUESTION) ?? '';
  question.addEventListener('input', () => kept.set('form', QUESTION, question.value || null));

  async function answered({ id, asked, begun }) {
    try {
      const told = await settings.askAgent(id, asked);
      if (question.value === asked) kept.set('form', QUESTION, null);
      const link = element('a', { href: `/interface/${encodeURIComponent(told.conversationId)}`, text: words.conversation });
      return [
        answerNode(told.answer),
        element('p', { class: 'settings-state' }, `${words.answeredIn((performance.now() - begun) / 1000)} `, link),
      ];
    } catch (error) {
      return [element('p', { class: 'settings-state is-failed', text: settingsStrings.notDone(error.message) })];
    }
  }

  async function ask(sent) {
    answer.replaceChildren();
    const nodes = await answered(sent);
    // Where another agent was opened meanwhile, the answer stands in its conversation.
    if (openId() === sent.id) answer.replaceChildren(...nodes);
  }

  onSubmit(find('agent-trial-form'), ask, {
    running: words.asking,
    read: () => ({ id: openId(), asked: question.value, begun: performance.now() }),
  });
  return { clear: () => answer.replaceChildren() };
}

export function mountAgents(section, { api, settings, kept, watch }) {
  const place = section.querySelector('[data-fill]');
  const fields = createFields({ api, onChange: () => keep() });
  const form = find('agent-form');
  let agents = [];
  let tools = [];
  /** How much is in the inboxes, as the server counts it. */
  let counts = [];
  /** The id of the agent in the form, `NEW`, or null for none. */
  let open = null;
  let isFilled = false;
  const trial = mountTrial({ settings, kept, openId: () => open });
  const inbox = mountInbox({ settings, openId: () => open, onAnswered: () => show() });
  /** What was typed, while the open form shows the agent as it was saved elsewhere; and what that was changed to, while it does not. */
  let aside = null;
  let changed = null;
  const otherNote = createOtherNote(swap);
  form.querySelector('.settings-buttons').before(otherNote.node);
  const agentOf = (id) => agents.find(({ agent_id: each }) => each === id) ?? null;
  /** What was typed and is not saved; of a page before inboxes, without what these need. */
  const keptForm = (id) => kept.get('form', keptAs(id)) && { ...formOf(agentOf(id), tools), ...kept.get('form', keptAs(id)) };
  const drop = (id) => keepBoth(kept, [keptAs(id), null], [besideAs(id), null]);

  /** What was typed into the open form, also where this shows what was saved. */
  const typedForm = () => aside ?? fields.read();
  const showForm = (shown) => fields.show(shown, { keepsSlug: Boolean(agentOf(open)?.is_global) });

  function swap() {
    const [shown, saved] = [fields.read(), formOf(agentOf(open), tools)];
    if (aside) {
      changed = isSameForm(shown, saved) ? null : shown;
      showForm(aside);
      aside = null;
    } else {
      showForm(changed ?? saved);
      aside = shown;
    }
    keep();
  }

  /** Nothing else is known of the open form than what it shows. */
  function forgetOther() {
    [aside, changed] = [null, null];
    otherNote.hide();
  }

  function keep() {
    const [typed, saved] = [typedForm(), formOf(agentOf(open), tools)];
    if (isSameForm(typed, saved)) drop(open);
    else keepBoth(kept, [keptAs(open), typed], [besideAs(open), readBeside(saved)]);
  }

  /** What the saved form was changed to, beside what was typed. */
  function readBeside(saved) {
    const form = aside ? fields.read() : changed;
    return form && !isSameForm(form, saved) ? { form, isShown: aside !== null } : null;
  }

  /** Brings it back, as it was shown. */
  function restoreBeside() {
    const beside = kept.get('form', besideAs(open));
    if (!beside) return;
    changed = beside.form;
    if (beside.isShown) swap();
    otherNote.show(beside.isShown);
  }

  /** Lets the form be the one of this agent; what is in the fields stays. */
  function turnTo(id) {
    const agent = agentOf(id);
    open = id;
    find('agent-form-title').textContent = agent ? words.change(agentName(agent.title)) : words.make;
    setHidden(find('agent-editor'), false);
    setHidden(find('agent-trial'), !agent);
    setHidden(find('agent-inbox'), !agent);
  }

  /** Shows an agent in the form, with what was typed and is not saved. */
  function edit(id) {
    const agent = agentOf(id);
    turnTo(id);
    forgetOther();
    showForm(keptForm(id) ?? formOf(agent, tools));
    restoreBeside();
    trial.clear();
    if (agent) inbox.show(id);
  }

  function close() {
    open = null;
    forgetOther();
    setHidden(find('agent-editor'), true);
  }

  function choose(id) {
    edit(id);
    fields.focus();
  }

  async function remove({ agent_id: id, title }) {
    const question = { title: words.deleteTitle(title), text: words.deleteText, confirmLabel: words.deleteConfirm };
    if (!(await confirmAction(question))) return;
    if (await attempt(() => settings.deleteAgent(id), { failed: settingsStrings.notDone })) {
      drop(id);
      if (open === id) close();
    }
    await show();
  }

  function row(agent) {
    const { agent_id: id, title, reference, is_global: isGlobal, model } = agent;
    const actions = [{ label: words.edit, onAct: () => choose(id) }];
    if (!isGlobal) actions.push({ label: words.delete, onAct: () => remove(agent) });
    const { pending = 0, claimed = 0, failed = 0 } = counts.find(({ agent_id: each }) => each === id) ?? {};
    const badges = [pending + claimed > 0 && words.inbox.waiting(pending + claimed), failed > 0 && words.inbox.failed(failed)];
    return record({ name: agentName(title), badges: badges.filter(Boolean), note: [reference, model].filter(Boolean).join(' · '), actions });
  }

  /** The form of the open agent goes with what was saved elsewhere; what was typed stays. @param {object} before the form as it was saved */
  function followOpen(before) {
    const isTyped = !isSameForm(typedForm(), before);
    if (!agentOf(open)) {
      if (isTyped) makeAnew();
      else close();
      return;
    }
    const now = formOf(agentOf(open), tools);
    if (isSameForm(now, before)) return;
    if (isSameForm(fields.read(), before)) showForm(now);
    turnTo(open);
    if (aside && isSameForm(aside, now)) aside = null;
    if (isTyped) keep();
    if (isSameForm(typedForm(), now)) forgetOther();
    else otherNote.show(aside !== null);
  }

  /** The agent of the open form was deleted elsewhere: what was typed would make a new one. */
  function makeAnew() {
    const typed = typedForm();
    drop(open);
    turnTo(NEW);
    forgetOther();
    showForm(typed);
    keep();
    showToast(words.deletedElsewhere, { lasting: true });
  }

  async function load() {
    const asked = [settings.agents(), api.tools(), api.models(), settings.recipes(), settings.inboxes()];
    const [found, offered, { choices }, recipes, waiting] = await Promise.all(asked);
    return { found, offered, choices, recipes, waiting };
  }

  /** Opens what was typed and not saved when the page was left. What was typed for an agent that is gone goes, too. */
  function resume() {
    const [first, ...others] = [NEW, ...agents.map(({ agent_id: id }) => id)].filter(keptForm);
    if (first) edit(first);
    const known = new Set([first, ...others].flatMap((id) => [keptAs(id), besideAs(id)]));
    for (const [id] of kept.all('form')) if (id.startsWith(keptAs('')) && !known.has(id)) kept.set('form', id, null);
  }

  function list({ found, offered, choices, recipes, waiting }) {
    const before = agentOf(open) && formOf(agentOf(open), tools);
    agents = found;
    tools = offered;
    counts = waiting;
    fields.offer({ tools, choices, kinds: activityKinds(recipes, words.rules.kinds) });
    setHidden(find('agent-new'), false);
    if (!isFilled) resume();
    else if (before) followOpen(before);
    isFilled = true;
    return [records(agents.map(row))];
  }

  // One after the other: an older list never replaces a newer one.
  let last = Promise.resolve();
  const show = (how) => {
    last = last.then(() => fill(place, load, list, how));
    return last;
  };

  /** Shows anew how much waits. Where that fails, the next change asks again. */
  const recount = () => {
    last = last.then(async () => {
      if (!isFilled) return;
      counts = await settings.inboxes();
      await whenReleased();
      replaceWithFocus(place, records(agents.map(row)));
    }).catch(() => {});
  };

  /** What was typed while it was being saved stays, now for the agent that was saved. */
  function settle(id, saved, sent) {
    agents = [...agents.filter(({ agent_id: each }) => each !== saved.agent_id), saved];
    const typed = open === id ? typedForm() : keptForm(id) ?? sent;
    const isSaved = isSameForm(typed, sent);
    drop(id);
    if (!isSaved) kept.set('form', keptAs(saved.agent_id), typed);
    if (open !== id) return;
    turnTo(saved.agent_id);
    if (!aside) forgetOther();
    fields.showSlug(saved.slug);
    inbox.show(saved.agent_id);
  }

  async function save({ id, sent }) {
    const body = bodyOf(sent);
    let saved;
    try {
      saved = id === NEW ? await settings.createAgent(body) : await settings.replaceAgent(id, body);
    } catch (error) {
      if (error.code !== 'conflict') throw error;
      if (open === id) fields.showTaken(true);
      return;
    }
    settle(id, saved, sent);
    showToast(settingsStrings.saved, { kind: 'success' });
    await show();
  }

  form.addEventListener('input', keep);
  onSubmit(form, save, { creates: true, read: () => ({ id: open, sent: fields.read() }) });
  find('agent-new').addEventListener('click', () => choose(NEW));
  find('agent-close').addEventListener('click', () => {
    drop(open);
    close();
    find('agent-new').focus();
  });
  watch('agent', () => show({ isBehind: true }));
  watch('inbox', (isChanged) => {
    recount();
    if (open !== null && isChanged(open)) inbox.renew(open);
  });
  show();
  return show;
}
