/** What messages, suggestions and the rail say of documents. */

import { number } from './count.js';

export const messageDocumentStrings = {
  label: 'Documents',
  used: 'Documents',
  found: 'Found',
  more: (n) => `+${number(n)} more`,
  none: 'No document matches.',
  noneHere: 'No message here refers to a document yet. Type [[ to name one.',
  related: 'These may belong here too',
  deleted: 'Deleted since',
  onlyFound: 'found, not used',
  goTo: (index) => `Go to message ${index}`,
};
