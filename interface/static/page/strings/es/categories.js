import { categoryNames as english } from '../en/categories.js';
import { fill } from '../fill.js';

export const categoryNames = fill(english, {
  fact: 'Hecho',
  preference: 'Preferencia',
  decision: 'Decisión',
  memory: 'Recuerdo',
  task: 'Tarea',
  reminder: 'Recordatorio',
  habit: 'Hábito',
  observation: 'Observación',
  personal: 'Personal',
  health: 'Salud',
  relationships: 'Relaciones',
  learning: 'Aprendizaje',
  life_ops: 'Día a día',
  work: 'Trabajo',
  finance: 'Finanzas',
  person: 'Persona',
  org: 'Organización',
  place: 'Lugar',
  topic: 'Tema',
  project: 'Proyecto',
  system: 'Sistema',
  other: 'Otro',
});
