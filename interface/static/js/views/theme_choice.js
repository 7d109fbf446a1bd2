/**
 * Let the radio buttons named `theme` inside `scope` choose the theme.
 *
 * @param {ParentNode} scope
 */
export function mountThemeChoice(scope) {
  const { anaphoraTheme } = globalThis;
  const radios = scope.querySelectorAll('input[name="theme"]');
  for (const radio of radios) {
    radio.checked = radio.value === anaphoraTheme.choice();
    radio.addEventListener('change', () => radio.checked && anaphoraTheme.choose(radio.value));
  }
}
