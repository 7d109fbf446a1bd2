import { chooseConversationStrings as english } from '../en/choose_conversation.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const chooseConversationStrings = fill(english, {
  find: 'Buscar una conversación',
  list: 'Conversaciones',
  found: (n) => count(n, 'conversación', 'conversaciones'),
  none: 'Ninguna conversación se llama así.',
  failed: (reason) => `No se pudieron cargar las conversaciones. ${reason}`,
  cancel: 'Cancelar',
});
