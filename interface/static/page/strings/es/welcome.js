import { welcomeStrings as english } from '../en/welcome.js';
import { fill } from '../fill.js';

export const welcomeStrings = fill(english, {
  failed: (message) => `No se pudo preparar la bienvenida. ${message}`,
  suggestions: 'Para probar',
  lead: 'Prueba:',
  dismiss: 'No sugerir esto más',
  dismissFailed: (message) => `No se pudieron quitar las sugerencias. ${message}`,
  noModel: 'No hay ningún modelo configurado, así que nadie responderá; aquello a lo que te refieres se encuentra igualmente.',
});
