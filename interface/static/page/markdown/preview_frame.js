/*
 * Shows a page or a picture in a sandboxed frame: `{source}` comes in. No script of it runs, and nothing is fetched for it:
 * the policy of this frame allows styles and pictures that are in the source itself.
 */
(() => {
  const RUNNING = 'script, iframe, object, embed, base, link, meta[http-equiv]';

  function show(source) {
    const { documentElement: shown } = new DOMParser().parseFromString(source, 'text/html');
    for (const node of shown.querySelectorAll(RUNNING)) node.remove();
    for (const node of shown.querySelectorAll('*')) {
      for (const { name } of [...node.attributes]) if (name.startsWith('on')) node.removeAttribute(name);
    }
    document.documentElement.replaceWith(document.adoptNode(shown));
  }

  addEventListener('message', (event) => {
    if (event.source === parent) show(String(event.data.source));
  });
  parent.postMessage({ ready: true }, '*');
})();
