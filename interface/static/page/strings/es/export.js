import { exportStrings as english } from '../en/export.js';
import { fill } from '../fill.js';

export const exportStrings = fill(english, {
  formats: { markdown: 'Markdown', html: 'Página web (HTML)', json: 'JSON', bundle: 'Paquete (ZIP)' },
  running: 'Exportando la conversación…',
  done: (name) => `Se guardó «${name}»`,
  failed: (message) => `No se pudo exportar la conversación. ${message}`,
  again: 'Reintentar',
});
