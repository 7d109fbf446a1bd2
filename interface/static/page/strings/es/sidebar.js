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
