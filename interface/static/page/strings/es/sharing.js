import { shareStrings as english } from '../en/sharing.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

const messages = (n) => count(n, 'mensaje', 'mensajes');
const size = (bytes) => (bytes >= 1e6 ? `${number(Math.round(bytes / 1e5) / 10)} MB` : `${number(Math.ceil(bytes / 1024))} KB`);

export const shareStrings = fill(english, {
  again: 'Reintentar',
  messages,
  size,

  dialog: {
    title: (title) => `Compartir «${title}»`,
    looking: 'Viendo qué se puede compartir…',
    lookFailed: (message) => `No se pudo comprobar si esto está compartido. ${message}`,
    shows: (n) => `Quien tenga el enlace puede leer ${messages(n)} tal como están ahora, sin cuenta. Lo que se diga después se queda aquí.`,
    nothing: 'Todavía no hay nada que compartir: ningún mensaje está terminado.',
    stays: 'No se incluye: mensajes ocultos, recuerdos, ajustes, otras conversaciones ni tu correo electrónico.',
    hidden: (n) => `${messages(n)} ${n === 1 ? 'está oculto y queda fuera' : 'están ocultos y quedan fuera'}.`,
    quotes: 'Las referencias quedan como las palabras que escribiste, y las respuestas pueden citar lo que se les dio, también recuerdos y otros mensajes. Léelo todo antes de compartir.',
    files: {
      which: 'Archivos que muestra el enlace',
      note: 'Solo los que marques. De una imagen quedan fuera los metadatos (como dónde se tomó).',
    },
    create: 'Crear enlace',
    creating: 'Haciendo la copia…',
    createFailed: (message) => `No se pudo compartir. ${message}`,
    link: 'Enlace',
    copy: 'Copiar',
    copied: 'Copiado',
    made: 'El enlace se creó y se copió.',
    notCopied: 'El enlace se creó. Este navegador no dejó copiarlo por sí solo: está seleccionado arriba; cópialo desde ahí.',
    open: 'Abrir',
    since: (moment, n) => `Muestra ${messages(n)}, tal como estaban el ${moment}.`,
    unknown: 'El enlace funciona, pero este servidor ya no puede mostrarlo, porque se cambió su clave secreta. «Actualizar la copia» crea uno nuevo.',
    update: 'Actualizar la copia',
    updated: 'El enlace muestra la conversación tal como está ahora.',
    withdraw: 'Retirar el enlace',
    close: 'Cerrar',
  },

  withdraw: {
    title: '¿Retirar el enlace?',
    text: 'Quien lo tenga ya no verá nada. No se puede recuperar; al compartir otra vez se crea otro enlace.',
    confirm: 'Retirar',
    running: 'Retirando…',
    done: 'El enlace se retiró.',
    failed: (message) => `No se pudo retirar el enlace. ${message}`,
  },

  list: {
    looking: 'Cargando los enlaces…',
    none: 'No hay nada compartido.',
    failed: (message) => `No se pudieron cargar los enlaces. ${message}`,
    about: (n, moment) => `${messages(n)} a fecha de ${moment}`,
    inBin: 'en la papelera, ahora no lleva a ninguna parte',
    copy: (title) => `Copiar el enlace a «${title}»`,
    open: (title) => `Abrir el enlace a «${title}»`,
    withdraw: (title) => `Retirar el enlace a «${title}»`,
  },

  page: {
    sender: { user: 'Persona', assistant: 'Asistente' },
    about: (n, moment) => `${messages(n)} · copia de solo lectura, a fecha de ${moment}`,
    loading: 'Cargando…',
    more: 'Mostrar más',
    failed: (message) => `No se pudo cargar más. ${message}`,
    save: (name) => `Guardar ${name}`,
    gone: (name) => `«${name}» ya no está. Recarga la página para ver lo que muestra ahora el enlace.`,
  },
});
