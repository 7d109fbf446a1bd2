/**
 * What has to be done to the transcript for changes that the server told: it says which messages changed, not what they say.
 *
 * @typedef {object} Plan
 * @property {Map<string, object>} fields new values of shown messages, by their ids
 * @property {Set<string>} messages to be asked for, since their text changed
 * @property {boolean} newer messages were added at the end
 * @property {boolean} window messages came, went or moved among those that are shown: all of them are asked for
 * @property {boolean} pins
 */

/** So many messages are asked for one by one; of more, all that are shown. */
const MOST_SINGLE = 4;

/**
 * @param {import('../core/changes.js').Change[]} changes of turns and messages of the open conversation
 * @param {object} shown
 * @param {(messageId: string) => object|null} shown.find a message that is shown
 * @param {boolean} shown.atStart whether the first message of the conversation is shown
 * @param {boolean} shown.isAnswering whether this page is following an answer here: it shows that turn itself
 * @returns {Plan}
 */
export function planOf(changes, shown) {
  const plan = { fields: new Map(), messages: new Set(), newer: false, window: false, pins: false };
  for (const change of changes) {
    if (change.kind === 'turn') planTurn(change, plan, shown);
    else planMessage(change, plan, shown);
  }
  if (plan.messages.size > MOST_SINGLE) plan.window = true;
  return plan;
}

function planTurn({ change, id, fields }, plan, { find, isAnswering }) {
  if (isAnswering) return;
  const message = find(id);
  if (!message) plan.newer = true;
  else if (message.status !== fields.status || change === 'created') plan.messages.add(id);
}

function planMessage({ change, id, fields, at }, plan, { find, atStart }) {
  const message = find(id);
  if (changesOrder({ change, fields }, { isShown: message !== null, atStart })) plan.window = true;
  else if (message && change === 'changed') planFields(id, { message, fields, at }, plan);
  const mayBePinned = change === 'gone' ? Boolean(message?.pinned_at) : fields.pinned !== undefined;
  if (mayBePinned && isOtherPin(fields, message)) plan.pins = true;
}

/** Whether other messages are shown now, or in another order. */
function changesOrder({ change, fields }, { isShown, atStart }) {
  if (change === 'gone') return isShown || !atStart;
  if (change === 'created') return !isShown;
  return Boolean(fields.moved) || fields.chosen_branch !== undefined;
}

/** Of messages, lists tell when they were pinned; changes, whether they are. */
const isOtherPin = ({ pinned = false }, message) => !message || Boolean(message.pinned_at) !== pinned;

function planFields(id, { message, fields, at }, plan) {
  const isOther = (name) => fields[name] !== undefined && fields[name] !== message[name];
  const told = {
    ...(isOther('show_hide') ? { show_hide: fields.show_hide } : {}),
    ...(fields.pinned !== undefined && isOtherPin(fields, message) ? { pinned_at: fields.pinned ? at : null } : {}),
  };
  if (Object.keys(told).length > 0) plan.fields.set(id, { ...plan.fields.get(id), ...told });
  if (isOther('edited_at') || fields.chosen_variant !== undefined) plan.messages.add(id);
}
