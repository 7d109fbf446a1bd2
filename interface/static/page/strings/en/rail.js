/** What stands beside a conversation, in its tabs. */

import { money } from './count.js';

export const railStrings = {
  label: 'Conversation details',
  close: 'Close',
  references: 'References',
  backlinks: 'Referred to by',
  pins: 'Pins',
  branches: 'Branches',
  usage: 'Usage',
  noReferences: 'Nothing in the messages shown refers to anything yet. Type @ to name a conversation, a message or a memory.',
  noBacklinks: 'No message refers to this conversation as a whole, or to a range of its messages. Those that refer to one message are listed below that message.',
  noPins: 'No message is pinned. Pin one in its menu.',
  noBranches: 'No question was asked again in other words yet. Edit a question and choose “Save and answer again”.',
  noUsage: 'No answer here was counted yet.',
  answers: 'Answers',
  read: 'Tokens read',
  written: 'Tokens written',
  cost: 'Price',
  costs: (amounts) => amounts.map(([currency, amount]) => money(amount, currency)).join(' + '),
  allBranches: 'Of all branches and variants of this conversation.',
  files: 'Files',
  noFiles: 'No message here has a file yet. Drop one on the page, paste a picture, or click the paper clip.',
};
