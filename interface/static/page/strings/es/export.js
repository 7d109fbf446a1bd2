import { exportStrings as english } from '../en/export.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

export const exportStrings = fill(english, {
  formats: { markdown: 'Markdown', html: 'Página web (HTML)', json: 'JSON', bundle: 'Paquete (ZIP)' },
  running: 'Exportando la conversación…',
  done: (name) => `Se guardó «${name}»`,
  failed: (message) => `No se pudo exportar la conversación. ${message}`,
  again: 'Reintentar',
  archive: {
    begun: 'Empezando…',
    progress: 'Progreso de la descarga',
    far: (done, total, bytes) => `${number(done)} de ${count(total, 'conversación', 'conversaciones')} · ${number(bytes / 1e6)} MB`,
    cancel: 'Cancelar',
    cancelled: 'La descarga se canceló. No se guardó nada.',
    brokeOff: 'La descarga se cortó antes de terminar: comprueba la conexión.',
    failed: (message) => `No se guardó nada. ${message}`,
  },
});
