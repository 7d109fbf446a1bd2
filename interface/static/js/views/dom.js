/**
 * Builds an element. Text goes in as text: there is no way to hand in HTML.
 *
 * @param {string} tag
 * @param {Object<string, any>} [attributes] `text` is the text; `on<event>` a listener; true, false and null set or leave
 *   out an attribute; everything else becomes an attribute as it is named
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Shows or hides, and says whether that changed anything. */
export function setHidden(node, hidden) {
  const changed = node.hidden !== hidden;
  if (changed) node.hidden = hidden;
  return changed;
}
