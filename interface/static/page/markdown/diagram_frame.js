/*
 * Draws diagrams in a sandboxed frame: `{id, source, dark}` comes in, `{id, svg}` or `{id, error}` goes back to the page.
 * A classic script: a module would need permission to be fetched from the frame's opaque origin.
 */
(() => {
  const { mermaid } = globalThis;
  // The library did not come: a frame that never says that it is ready is given up by the page.
  if (!mermaid) return;
  // One at a time: the theme is a setting of the whole library.
  let queue = Promise.resolve();

  async function draw({ id, source, dark }) {
    try {
      mermaid.initialize({
        startOnLoad: false,
        securityLevel: 'strict',
        suppressErrorRendering: true,
        // Text in HTML would not be drawn when the diagram is shown as a picture.
        htmlLabels: false,
        flowchart: { htmlLabels: false },
        theme: dark ? 'dark' : 'default',
        fontFamily: 'system-ui, sans-serif',
      });
      const { svg } = await mermaid.render(`diagram-${id}`, source);
      parent.postMessage({ id, svg }, '*');
    } catch (error) {
      parent.postMessage({ id, error: String(error?.message ?? error) }, '*');
    }
  }

  addEventListener('message', (event) => {
    if (event.source !== parent) return;
    queue = queue.then(() => draw(event.data));
  });
  parent.postMessage({ ready: true }, '*');
})();
