/*
 * Runs before the first paint, so that the page never shows the wrong theme. Without a choice of the person's own the
 * style sheet follows the system by itself.
 */
(() => {
  const KEY = 'anaphora.theme';
  const root = document.documentElement;

  function choice() {
    try {
      const stored = localStorage.getItem(KEY);
      return stored === 'light' || stored === 'dark' ? stored : 'system';
    } catch {
      return 'system';
    }
  }

  function apply(theme) {
    if (theme === 'system') delete root.dataset.theme;
    else root.dataset.theme = theme;
  }

  function choose(theme) {
    try {
      if (theme === 'system') localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch {
      // Storage may be forbidden: the choice then lasts as long as the page.
    }
    apply(theme);
  }

  /** The radio buttons of the page that choose the theme show which it is. */
  function tell() {
    for (const radio of document.querySelectorAll('input[name="theme"]')) radio.checked = radio.value === choice();
  }

  apply(choice());
  addEventListener('storage', (event) => {
    if (event.key !== KEY) return;
    apply(choice());
    tell();
  });
  addEventListener('DOMContentLoaded', tell);
  addEventListener('theme:choose', ({ detail }) => {
    choose(detail);
    tell();
  });
  addEventListener('change', (event) => {
    if (event.target.name === 'theme') choose(event.target.value);
  });
})();
