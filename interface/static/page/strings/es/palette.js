import { paletteStrings as english } from '../en/palette.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const paletteStrings = fill(english, {
  title: 'Comandos y conversaciones',
  field: 'Escribe un comando, una conversación o un ajuste',
  titleBeside: 'Abrir una conversación al lado',
  fieldBeside: '¿Qué conversación quiere al lado de esta?',
  beside: 'Abrir al lado (Ctrl+Intro)',
  list: 'Comandos y conversaciones',
  groups: {
    recent: 'Recientes', conversations: 'Conversaciones', actions: 'Comandos', conversation: 'Esta conversación', settings: 'Ajustes', search: 'Buscar',
  },
  keys: '↑ ↓ para elegir, Intro lo ejecuta, Esc cierra',
  found: (n) => (n ? count(n, 'entrada', 'entradas') : 'Nada coincide.'),
  within: (menu, item) => `${menu.replace(/…$/, '')} › ${item}`,
  searchFor: (query) => `Buscar «${query}» en todo`,
  searchFailed: (message) => `No se pudo buscar en las conversaciones más antiguas. ${message}`,
  failed: (message) => `Eso no funcionó. ${message}`,
});
