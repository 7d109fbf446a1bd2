/** Short messages at the edge of the page, with at most one action. */

import { icon } from '../icons.js';
import { shellStrings } from '../../strings/en/shell.js';

const PLAIN_SECONDS = 4;
const ACTION_SECONDS = 10;
/** Who was told that something failed may first have to find the network again. */
const FAILURE_SECONDS = 30;
/** What is over sooner needs no word. */
const PATIENCE_MS = 300;

function secondsFor({ withAction, isFailure }) {
  if (withAction && isFailure) return FAILURE_SECONDS;
  return withAction || isFailure ? ACTION_SECONDS : PLAIN_SECONDS;
}

/** What had the focus before it came to a toast. */
let before = null;

/** Gives the focus back that a toast had. */
function leave() {
  const place = before?.isConnected ? before : document.getElementById(before?.id ?? '');
  place?.focus({ preventScroll: true });
}

const transcripts = new Set();
const belowOf = (node) => document.documentElement.clientHeight - node.getBoundingClientRect().bottom;

function raise() {
  const below = [...transcripts].filter((node) => node.offsetHeight > 0).map(belowOf);
  region().style.setProperty('--below-toasts', `${Math.max(0, ...below)}px`);
}

/**
 * Keeps toasts above what stands below the messages, however high that grows: the box where they are written, and the bar of
 * what can be done with those that are selected.
 *
 * @param {HTMLElement} transcript
 */
export function keepToastsWithin(transcript) {
  transcripts.add(transcript);
  new ResizeObserver(raise).observe(transcript);
}

/** Says how much room the toasts take to the dialog that they stand in, if they do, and whether they reach over it. */
function tellDialog() {
  const element = document.getElementById('toasts');
  const dialog = element?.closest('dialog');
  if (!dialog) return;
  dialog.style.setProperty('--toasts-height', `${element.offsetHeight}px`);
  dialog.toggleAttribute('data-below-toasts', element.getBoundingClientRect().left < dialog.getBoundingClientRect().right);
}

/** Where toasts may stand: where style sheets put them, below the header, or above the box where messages are written. */
const PLACES = ['', '4rem auto', 'auto calc(var(--below-toasts, 0px) + var(--space-4))'];
/** The button that was pressed last: where that fails, it is pressed again. @type {HTMLElement|null} */
let pressed = null;

globalThis.addEventListener?.('click', ({ target }) => {
  const button = target.closest?.('button, a, summary');
  if (button && !button.closest('#toasts')) pressed = button;
}, true);

function meet(one, other) {
  const [a, b] = [one, other].map((node) => node.getBoundingClientRect());
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/** Puts the toasts where they don't cover what was pressed last, if they can. In a dialog, they have a room of their own. */
function keepOffPressed(element) {
  const isFree = (place) => {
    element.style.insetBlock = place;
    return !pressed || !meet(element, pressed);
  };
  if (element.closest('dialog') || !PLACES.some(isFree)) element.style.insetBlock = '';
}

globalThis.addEventListener?.('resize', () => {
  const element = document.getElementById('toasts');
  if (!element) return;
  keepOffPressed(element);
  tellDialog();
});

/** The one place of all toasts. */
function region() {
  let element = document.getElementById('toasts');
  if (!element) {
    element = document.createElement('div');
    element.id = 'toasts';
    element.popover = 'manual';
    element.setAttribute('role', 'status');
    element.setAttribute('aria-live', 'polite');
    element.addEventListener('focusin', ({ relatedTarget }) => {
      if (relatedTarget && !element.contains(relatedTarget)) before = relatedTarget;
    });
    new ResizeObserver(tellDialog).observe(element);
    document.body.append(element);
  }
  return element;
}

/**
 * Raises the toasts above everything, and puts them where they can be reached: a modal dialog makes all that is not in it
 * inert. To be called when a dialog has opened or closed.
 */
export function placeToasts() {
  const element = document.getElementById('toasts');
  if (!element) return;
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const isEmpty = element.childElementCount === 0;
  const place = (!isEmpty && [...document.querySelectorAll('dialog:modal')].at(-1)) || document.body;
  if (element.matches(':popover-open')) element.hidePopover();
  if (element.parentElement !== place) place.append(element);
  if (!isEmpty) element.showPopover();
  keepOffPressed(element);
  tellDialog();
  focused?.focus({ preventScroll: true });
}

function button(label, className, onClick) {
  const element = document.createElement('button');
  element.type = 'button';
  element.className = className;
  element.textContent = label;
  element.addEventListener('click', onClick);
  return element;
}

/** Calls `onEnd` after `seconds` during which nobody pointed at the element or had the focus in it. */
function whileUnattended(element, seconds, onEnd) {
  let timer = null;
  const start = () => {
    clearTimeout(timer);
    timer = setTimeout(onEnd, seconds * 1000);
  };
  const stop = () => clearTimeout(timer);
  element.addEventListener('pointerenter', stop);
  element.addEventListener('pointerleave', start);
  element.addEventListener('focusin', stop);
  element.addEventListener('focusout', start);
  start();
  return stop;
}

/**
 * @param {string} text
 * @param {{actionLabel?: string, onAction?: () => void, onGone?: () => void, kind?: 'info'|'success'|'error', lasting?: boolean}} [options]
 *   `lasting`: it stays until it is taken away; `onGone` is called when it goes without its action
 * @returns {() => void} takes the message away
 */
export function showToast(text, { actionLabel, onAction, onGone = () => {}, kind = 'info', lasting = false } = {}) {
  const toast = document.createElement('div');
  toast.className = `toast-message toast-${kind}`;
  if (kind === 'error') toast.setAttribute('role', 'alert');
  const words = document.createElement('span');
  words.className = 'toast-text';
  words.textContent = text;
  toast.append(words);

  const withAction = Boolean(actionLabel && onAction);
  const seconds = secondsFor({ withAction, isFailure: kind === 'error' });
  const stop = lasting ? () => {} : whileUnattended(toast, seconds, giveUp);
  function remove() {
    stop();
    const hadFocus = toast.contains(document.activeElement);
    toast.remove();
    if (hadFocus) leave();
  }
  function giveUp() {
    remove();
    onGone();
  }
  if (withAction) {
    toast.append(
      button(actionLabel, 'toast-action', () => {
        remove();
        onAction();
      }),
    );
  }
  const dismiss = button('', 'icon-button toast-dismiss', giveUp);
  dismiss.setAttribute('aria-label', shellStrings.toast.dismiss);
  dismiss.append(icon('x-lg'));
  toast.append(dismiss);
  region().append(toast);
  placeToasts();
  return giveUp;
}

/**
 * Says what runs once it has taken a while.
 *
 * @param {string} text
 * @returns {() => void} takes that back
 */
export function tellWhenSlow(text) {
  let remove = () => {};
  const timer = setTimeout(() => {
    remove = showToast(text, { lasting: true });
  }, PATIENCE_MS);
  return () => {
    clearTimeout(timer);
    remove();
  };
}
