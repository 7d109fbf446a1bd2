import { sidebarStrings as english } from '../en/sidebar.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

const conversations = (n) => count(n, 'conversación', 'conversaciones');

export const sidebarStrings = fill(english, {
  menu: {
    fork: 'Bifurcar…',
    share: 'Compartir…',
    export: 'Exportar',
    stopKeeping: 'Dejar de guardar',
    keep: 'Volver a guardar',
    tagsMany: (n) => `Etiquetas de ${number(n)} conversaciones…`,
  },

  tags: {
    title: (n) => `Etiquetas de ${conversations(n)}`,
    list: 'Etiquetas',
    some: (n, total) => `${number(n)} de ${number(total)}`,
    label: 'Más etiquetas',
    hint: 'Intro añade lo escrito; si son varias, con comas en medio.',
    add: 'Añadir',
    added: (tags) => `Se añadió: ${tags}`,
    tooLong: (most) => `Una etiqueta tiene como máximo ${number(most)} caracteres.`,
    done: (n) => `Se cambiaron las etiquetas de ${conversations(n)}`,
    full: 'Quizá ya no existan, o tengan tantas etiquetas como puede tener una conversación.',
  },

  many: {
    running: (n) => `Cambiando ${conversations(n)}…`,
    left: (n, total) => `No se pudieron cambiar ${number(n)} de ${conversations(total)}.`,
    gone: 'Quizá ya no existan, o estén en otro lugar.',
    goneOne: 'Eso no funcionó. Quizá la conversación ya no exista.',
    moved: (n, name) => `Se movió a «${name}»: ${conversations(n)}`,
  },

  stateless: {
    on: 'Desde ahora, lo que se diga aquí no se guarda.',
    off: 'Lo que se diga aquí vuelve a guardarse.',
  },

  workspace: {
    deleted: (name) => `Se borró el espacio de trabajo «${name}»`,
    restored: (name) => `Se recuperó el espacio de trabajo «${name}»`,
  },

  fork: {
    title: (title) => `Bifurcar «${title}»`,
    text: 'Una copia que sigue desde el mensaje que elijas. Esta conversación se queda como está.',
    find: 'Buscar un mensaje',
    whole: 'La conversación entera',
    messages: 'Mensajes',
    loading: 'Cargando mensajes…',
    none: 'Nada coincide.',
    empty: 'Todavía no hay mensajes.',
    failed: (message) => `No se pudieron cargar los mensajes. ${message}`,
    cancel: 'Cancelar',
    done: (title) => `Se bifurcó «${title}»`,
    from: (index) => `#${index}`,
  },
});
