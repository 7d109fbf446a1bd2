import { shortcutStrings as english } from '../en/shortcuts.js';
import { fill } from '../fill.js';

export const shortcutStrings = fill(english, {
  title: 'Atajos de teclado',
  close: 'Cerrar',
  failed: (message) => `No se pudieron cargar los atajos. ${message}`,
  nothingToCopy: 'Esta conversación aún no tiene nombre: lo recibe con su primera respuesta.',
  copied: (reference) => `Se copió ${reference}`,
  keys: { Mod: 'Ctrl', Alt: 'Alt', Shift: 'Mayús' },
  macKeys: { Mod: '⌘', Alt: '⌥', Shift: '⇧' },
  of: {
    search: 'Buscar en todo',
    newConversation: 'Conversación nueva',
    previous: 'Conversación anterior de la barra lateral',
    next: 'Conversación siguiente de la barra lateral',
    sidebar: 'Mostrar u ocultar la barra lateral',
    copyReference: 'Copiar la referencia de esta conversación',
    settings: 'Ajustes',
    compose: 'Ir al cuadro de mensaje',
    help: 'Mostrar esta lista',
    send: 'Enviar el mensaje',
    newLine: 'Línea nueva en el mensaje',
    mention: 'En un mensaje: referirse a una conversación, un mensaje, un recuerdo',
    command: 'Al principio de un mensaje: un comando',
    close: 'Cerrar lo que está abierto',
  },
});
