import { messageActionStrings as english } from '../en/message_actions.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const messageActionStrings = fill(english, {
  remove: {
    done: (n) => count(n, 'mensaje borrado.', 'mensajes borrados.'),
    failed: (message) => `No se pudo borrar el mensaje. ${message}`,
    restoreFailed: (message) => `No se pudo recuperar el mensaje. ${message}`,
  },

  fork: {
    running: 'Copiando la conversación…',
    done: 'Esto es una copia hasta ese mensaje: sigue desde aquí de otra manera.',
    failed: (message) => `No se pudo bifurcar la conversación. ${message}`,
  },

  selection: {
    label: 'Mensajes seleccionados',
    count: (n) => count(n, 'mensaje seleccionado', 'mensajes seleccionados'),
    copyReferences: 'Copiar referencias',
    clear: 'Quitar la selección',
  },

  compare: {
    title: (n) => `${count(n, 'respuesta', 'respuestas')} a la misma pregunta`,
    list: 'Las respuestas',
    place: (number, total) => `${number} de ${total}`,
    shown: 'está en la conversación',
    use: 'Usar esta',
    empty: 'No dice nada.',
    close: 'Cerrar',
  },
});
