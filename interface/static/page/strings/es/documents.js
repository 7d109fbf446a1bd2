/** @see ../en/documents.js */

import { documentStrings as english } from '../en/documents.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

export const documentStrings = fill(english, {
  title: 'Documentos',
  close: 'Cerrar los documentos',
  search: 'Buscar un documento',
  newName: 'Ruta de un documento nuevo',
  create: 'Documento nuevo',
  failed: (message) => `No se pudieron cargar los documentos. ${message}`,
  count: (n) => count(n, 'documento', 'documentos'),
  inText: 'En el texto',
  noMatch: 'Ningún documento coincide.',
  empty: 'Aún no hay documentos. Escribe uno aquí o pon archivos Markdown en tu bóveda.',
  broken: 'Enlaces que no llevan a nada',
  noBroken: 'Todos los enlaces llevan a un documento.',
  orphans: 'Documentos sin enlaces',
  noOrphans: 'Todos los documentos están enlazados.',
  graph: 'Enlaces como imagen',
  leftOut: (n) => `${count(n, 'documento', 'documentos')} sin mostrar`,
  gone: 'Este documento ya no existe.',
  all: 'Todos los documentos',
  edit: 'Editar',
  backlinks: 'Enlazado desde',
  brokenHere: 'Enlaces que no llevan a nada',
  brokenAt: (link, line) => `${link}, línea ${number(line)}`,
  usedBy: 'Mensajes que lo usaron',
  untitled: '(sin título)',
  text: 'Texto del documento',
  save: 'Guardar',
  preview: 'Vista previa',
  discard: 'Descartar mis cambios',
  saving: 'Guardando…',
  savedMeanwhile: 'Guardado. Lo que has escrito mientras tanto aún no está guardado.',
  saveFailed: (message) => `No se guardó. ${message}`,
  changedMeanwhile: 'El documento cambió mientras tanto. Ahora dice esto:',
  deletedMeanwhile: 'El documento se eliminó mientras tanto.',
  keepMine: 'Guardar mi texto en su lugar',
  takeTheirs: 'Tomar este texto',
});
