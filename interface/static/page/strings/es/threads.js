import { threadStrings as english } from '../en/threads.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const threadStrings = fill(english, {
  label: 'Hilos',
  none: 'Ningún mensaje de aquí está en un hilo todavía. Responde a un mensaje para empezar uno.',
  replies: (n) => count(n, 'respuesta', 'respuestas'),
  last: (time) => `última ${time}`,
  failed: (reason) => `No se pudo cargar el hilo. ${reason}`,
  more: 'Mostrar más',
  recipe: 'Mostrar',
  allRecipes: 'Todo',
  rename: 'Cambiar el título del hilo',
  renameLabel: 'Título del hilo; vacío para sus primeras palabras',
  renameFailed: (reason) => `No se pudo cambiar el título del hilo. ${reason}`,
  export: 'Exportar como Markdown',
  reply: (shortId) => `Responder a #${shortId}`,
  elsewhere: 'en otra conversación',
  replyTo: (shortId) => `respuesta a #${shortId}`,
  deleted: '(eliminado)',
  copyShortId: 'Copiar el identificador corto',
});
