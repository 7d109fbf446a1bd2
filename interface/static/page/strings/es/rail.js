import { railStrings as english } from '../en/rail.js';
import { fill } from '../fill.js';
import { money } from './count.js';

export const railStrings = fill(english, {
  usage: 'Uso',
  noUsage: 'Aquí aún no se ha contado ninguna respuesta.',
  answers: 'Respuestas',
  read: 'Tokens leídos',
  written: 'Tokens escritos',
  cost: 'Precio',
  costs: (amounts) => amounts.map(([currency, amount]) => money(amount, currency)).join(' + '),
  allBranches: 'De todas las ramas y variantes de esta conversación.',
  label: 'Detalles de la conversación',
  close: 'Cerrar',
  references: 'Referencias',
  backlinks: 'Mencionada en',
  pins: 'Fijados',
  branches: 'Ramas',
  noReferences: 'Los mensajes mostrados todavía no se refieren a nada. Escribe @ para nombrar una conversación, un mensaje o un recuerdo.',
  noBacklinks: 'Ningún mensaje se refiere a toda esta conversación ni a un intervalo de sus mensajes. Los que se refieren a un solo mensaje aparecen debajo de él.',
  noPins: 'No hay ningún mensaje fijado. Fija uno desde su menú.',
  noBranches: 'Todavía no se ha repetido ninguna pregunta con otras palabras. Edita una pregunta y elige «Guardar y responder de nuevo».',
  files: 'Archivos',
  noFiles: 'Ningún mensaje de aquí tiene archivos todavía. Suelta uno en la página, pega una imagen o pulsa el clip.',
});
