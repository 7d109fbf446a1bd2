import { createCount } from '../../core/plural.js';

/** “2 days”, as English says it. */
export const count = createCount('en');
