import { searchStrings as english } from '../en/search.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const searchStrings = fill(english, {
  title: 'Buscar',
  close: 'Cerrar',
  label: 'Buscar en todo',
  placeholder: 'Palabras, "una frase", -sin, sender:user …',
  kinds: 'Qué buscar',
  kind: { all: 'Todo', message: 'Mensajes', file: 'Archivos', document: 'Documentos', conversation: 'Conversaciones', memory: 'Recuerdos' },
  help: 'Cómo acotar',
  operators: [
    ['masa madre', 'ambas palabras, en cualquier orden; la última puede ser el principio de una palabra'],
    ['"harina de centeno"', 'estas palabras seguidas'],
    ['-levadura', 'sin esta palabra'],
    ['sender:user', 'lo que dijiste tú; sender:model es lo que se respondió'],
    ['in:bread_starter_k3f9', 'en la conversación de este nombre'],
    ['after:2026-02-08', 'ese día o después; también vale un mes (2026-02) o un año'],
    ['before:2026-03', 'antes'],
  ],
  keys: '↑ ↓ para elegir, Intro abre, Esc vuelve',
  start: 'Escribe lo que recuerdes. Se busca en mensajes, archivos, documentos, conversaciones y recuerdos.',
  searching: 'Buscando…',
  none: (q) => `No se encontró nada para «${q}».`,
  found: (n, more) => (more ? `${count(n, 'resultado', 'resultados')}, y más` : count(n, 'resultado', 'resultados')),
  failed: (message) => `La búsqueda falló. ${message}`,
  again: 'Reintentar',
  more: 'Mostrar más',
  moreFailed: (message) => `No se pudo cargar más. ${message}`,
  all: { file: 'Más archivos', document: 'Más documentos', conversation: 'Más conversaciones', memory: 'Más recuerdos' },
  page: (number) => `página ${number}`,
  copy: 'Copiar referencia',
  copyOf: (title) => `Copiar la referencia a «${title}»`,
  copied: '¡Copiado!',
});
