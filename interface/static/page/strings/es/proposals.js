import { proposalStrings as english } from '../en/proposals.js';
import { fill } from '../fill.js';

export const proposalStrings = fill(english, {
  title: 'Lo que proponen modelos y programas',
  none: 'No hay propuestas.',
  close: 'Cerrar',
  from: { agent: 'Un agente', answer: 'Una respuesta', program: 'Un programa', token: (name) => `Un programa con el token «${name}»` },
  about: (source, time) => `${source} · ${time}`,
});
