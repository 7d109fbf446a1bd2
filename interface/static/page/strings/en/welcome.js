/** What is said to somebody who is here for the first time. */

export const welcomeStrings = {
  failed: (message) => `The welcome could not be made. ${message}`,
  suggestions: 'Things to try',
  lead: 'Try:',
  dismiss: 'Do not suggest these any more',
  dismissFailed: (message) => `The suggestions could not be put away. ${message}`,
  noModel: 'No model is set up, so nobody will answer; what you refer to is found all the same.',
};
