import { importStrings as english } from '../en/imports.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

const conversations = (n) => count(n, 'conversación', 'conversaciones');
const messages = (n) => count(n, 'mensaje', 'mensajes');

function timeLeft(seconds) {
  if (seconds === null) return '';
  return seconds < 60 ? ` · quedan unos ${number(Math.ceil(seconds))} s` : ` · quedan unos ${number(Math.ceil(seconds / 60))} min`;
}

function outcome({ imported, updated, skipped, failed }) {
  const parts = [`${number(imported)} importadas`, updated && `${number(updated)} actualizadas`, skipped && `${number(skipped)} omitidas`, failed && `${number(failed)} con problemas`];
  return parts.filter(Boolean).join(' · ');
}

export const importStrings = fill(english, {
  title: 'Traer tu historial',
  drop: 'Suelta aquí el archivo de una exportación',
  choose: 'Elegir un archivo…',
  cancel: 'Cancelar',
  close: 'Cerrar',
  goesOn: 'Las conversaciones aparecen en la barra lateral a medida que se guardan. Puedes cerrar esto en cualquier momento: la importación sigue.',
  list: 'Importaciones',
  whereFrom: '¿De dónde saco el archivo?',
  products: [
    ['ChatGPT', 'Configuración › Controles de datos › Exportar datos. El enlace a un archivo ZIP llega por correo.'],
    ['Claude', 'Configuración › Privacidad › Exportar datos. El enlace a un archivo ZIP llega por correo.'],
    ['Open WebUI', 'Ajustes › Control de datos › Exportar chats da un archivo JSON.'],
    ['LibreChat', 'Compartir › Exportar conversación como JSON, con todas las ramas. Muchas caben en un archivo ZIP.'],
    ['zk-chat', 'El archivo .zk_chat_db/chat_sessions.json de la bóveda.'],
    ['Anaphora', 'Descargar todo: el archivo ZIP. O Exportar en el menú de una conversación, como JSON.'],
    ['Primera implementación', 'Un ZIP de sus carpetas de conversaciones, su pkb.sqlite con los recuerdos, o ambas cosas en un ZIP.'],
    ['Notas', 'Archivos Markdown, como una bóveda de Obsidian en un ZIP: Documentos › Importar.'],
    ['Cualquier otro', 'JSON Lines: la guía de usuario dice cómo.'],
  ],
  sources: {
    chatgpt: 'ChatGPT', claude: 'Claude', open_webui: 'Open WebUI', librechat: 'LibreChat', zk_chat: 'zk-chat', first_implementation: 'Primera implementación',
    json_lines: 'JSON Lines', anaphora: 'Anaphora', account: 'Anaphora, todo',
  },
  sending: (name) => `Enviando ${name}…`,
  notTaken: (message) => `El archivo no se aceptó. ${message}`,
  notKnown: (name) => `«${name}» no es un archivo que se pueda importar. Elige uno de estos:`,
  failed: (message) => `Eso no funcionó. ${message}`,
  progress: (name) => `Progreso de ${name}`,
  messages,
  vectors: (n) => `Mensajes que se encuentran por sus palabras y pronto por su significado: ${number(n)}`,
  lesson: (name) => `«${name}» dice lo que otro programa recordaba de ti. De ahí pueden salir recuerdos; nada se guarda antes de que lo apruebes.`,
  learn: 'Buscar recuerdos en él',
  problems: (n) => `${count(n, 'problema', 'problemas')}`,
  stays: (n) => `${number(n)} ${n === 1 ? 'se queda' : 'se quedan'}`,
  workspace: 'Espacio de trabajo',
  usualWorkspace: 'Como en el archivo',
  which: 'Elegir conversaciones',
  all: 'Todas',
  none: 'Ninguna',
  questions: {
    undo: { title: '¿Deshacer la importación?', text: 'Se elimina lo que trajo, salvo las conversaciones que continuaste.' },
    stop: { title: '¿Detener la importación?', text: 'Lo guardado se queda. Después se puede deshacer.' },
  },
  actions: {
    start: 'Importar', cancel: 'Descartar', pause: 'Pausar', resume: 'Continuar', stop: 'Detener', undo: 'Deshacer la importación', report: 'Descargar el informe',
    forget: 'Quitar de esta lista',
  },
  states: {
    counting: (given) => `Leyendo el archivo: ${conversations(given.conversations)}, ${messages(given.messages)} hasta ahora…`,
    ready: (given) => (given.conversations ? `${conversations(given.conversations)} con ${messages(given.messages)}.` : 'Recuerdos, documentos o ajustes, y ninguna conversación.'),
    running: (given) => `${given.counted ? `${number(given.done)} de ${messages(given.messages)}` : messages(given.done)} · ${number(Math.round(given.messages_per_second ?? 0))} por segundo${timeLeft(given.seconds_left)}`,
    waiting: (given) => `No se pudo guardar; se intentará de nuevo a las ${given.time}. ${given.error}`,
    paused: (given) => `En pausa tras ${messages(given.done)}.`,
    done: (given) => `Listo: ${outcome(given)}.`,
    failed: (given) => `No pudo continuar. ${given.error}`,
    cancelled: (given) => `Detenida: ${outcome(given)}.`,
    undoing: () => 'Deshaciendo…',
    undone: () => 'Deshecha.',
  },
});
