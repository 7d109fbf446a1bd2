import { messageDocumentStrings as english } from '../en/message_documents.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const messageDocumentStrings = fill(english, {
  label: 'Documentos',
  used: 'Documentos',
  found: 'Encontrados',
  more: (n) => `+${number(n)} más`,
  none: 'Ningún documento coincide.',
  noneHere: 'Ningún mensaje se refiere aún a un documento. Escribe [[ para nombrar uno.',
  related: 'Estos también podrían venir al caso',
  deleted: 'Eliminado desde entonces',
  onlyFound: 'encontrado, no usado',
  goTo: (index) => `Ir al mensaje ${index}`,
});
