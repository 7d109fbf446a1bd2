import { proposalStrings as english } from '../en/proposals.js';
import { fill } from '../fill.js';

export const proposalStrings = fill(english, {
  title: 'Was Modelle und Programme vorschlagen',
  none: 'Es gibt keine Vorschläge.',
  close: 'Schließen',
  from: { agent: 'Ein Agent', answer: 'Eine Antwort', program: 'Ein Programm', token: (name) => `Ein Programm mit dem Token „${name}“` },
  about: (source, time) => `${source} · ${time}`,
});
