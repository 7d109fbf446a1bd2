import { categoryNames as english } from '../en/categories.js';
import { fill } from '../fill.js';

export const categoryNames = fill(english, {
  fact: 'Tatsache',
  preference: 'Vorliebe',
  decision: 'Entscheidung',
  memory: 'Erinnerung',
  task: 'Aufgabe',
  reminder: 'Merkposten',
  habit: 'Gewohnheit',
  observation: 'Beobachtung',
  personal: 'Persönliches',
  health: 'Gesundheit',
  relationships: 'Beziehungen',
  learning: 'Lernen',
  life_ops: 'Alltag',
  work: 'Arbeit',
  finance: 'Finanzen',
  person: 'Person',
  org: 'Organisation',
  place: 'Ort',
  topic: 'Thema',
  project: 'Projekt',
  system: 'System',
  other: 'Sonstiges',
});
