import { memoryStrings as english } from '../en/memory_proposals.js';
import { fill } from '../fill.js';
import { count } from './count.js';

const memories = (n) => count(n, 'recuerdo', 'recuerdos');

export const memoryStrings = fill(english, {
  command: {
    listTitle: 'Comandos',
    close: 'Cerrar',
    text: 'texto',
    unknown: (name) => `No existe el comando /${name}. /help muestra los que hay.`,
    asText: 'Enviar como texto',
    nothingSaid: 'Aquí todavía no se ha dicho nada. Escribe después de /memory qué hay que recordar.',
    usage: 'Escribe después de /memory qué hay que recordar.',
  },

  confirm: {
    title: 'Recuerdo nuevo',
    statement: 'Enunciado',
    type: 'Tipo',
    domain: 'Ámbito',
    discard: '¿Descartar lo que escribiste?',
    discardConfirm: 'Descartar',
    tags: 'Etiquetas',
    tagsHint: 'separadas por comas',
    about: (names) => `Sobre: ${names}`,
    thinking: 'Buscando sugerencias…',
    modelLooks: (seconds) => (seconds >= 2 ? `El modelo también lo mira: unos ${Math.ceil(seconds)} s. Ya puedes añadirlo.` : 'El modelo también lo mira. Ya puedes añadirlo.'),
    noSuggestions: 'Ahora no hay sugerencias. Puedes añadirlo tal como está.',
    add: 'Recordar',
    adding: 'Guardando…',
    cancel: 'Cancelar',
    failed: (message) => `No se guardó. ${message}`,
    done: (friendlyId) => `Guardado como @${friendlyId}`,
    undo: 'Deshacer',
    undone: 'Está olvidado de nuevo.',
    undoFailed: (message) => `No se pudo deshacer. ${message}`,
    similar: {
      duplicate: (friendlyId) => `Ya lo tienes: @${friendlyId}`,
      contradiction: (friendlyId) => `Dice otra cosa que @${friendlyId}`,
    },
    replace: 'Reemplazar ese',
    conflict: 'Si no, se conservan ambos, y la contradicción te espera en Recuerdos, Contradicciones.',
  },

  proposals: {
    title: '¿Recordar esto?',
    looking: 'Buscando lo que vale la pena recordar…',
    modelLooks: (seconds) => (seconds >= 2 ? `El modelo también busca: unos ${Math.ceil(seconds)} s.` : 'El modelo también busca…'),
    modelFailed: (message) => `El modelo no encontró nada más. ${message}`,
    none: 'No hay nada nuevo que recordar en esto.',
    failed: (message) => `Eso no funcionó. ${message}`,
    again: 'Reintentar',
    accept: (n) => (n === 0 ? 'Recordar' : `Guardar ${memories(n)}`),
    accepting: 'Guardando…',
    dismiss: 'Cerrar',
    close: 'Cerrar',
    gone: 'Ese mensaje ya no se muestra.',
    expired: 'Estas propuestas han caducado.',
    action: {
      add: '',
      update: (friendlyId) => `Reemplaza @${friendlyId}`,
      skip: (friendlyId) => `Ya lo tienes: @${friendlyId}`,
      conflict: (friendlyId) => `Dice otra cosa que @${friendlyId}`,
    },
    result: { add: 'Guardado', update: 'Reemplazado', skip: 'Sin cambios', conflict: 'Guardado, con una contradicción por resolver' },
    show: 'Mostrar',
    undo: 'Deshacer',
    undone: 'Está como antes.',
    done: (n) => (n === 0 ? 'No se guardó nada.' : `Se guardó: ${memories(n)}.`),
  },
});
