/** What the list of proposals says. Loaded with it. */

export const proposalStrings = {
  title: 'What models and programs propose',
  none: 'Nothing is proposed.',
  close: 'Close',
  from: { agent: 'An agent', answer: 'An answer', program: 'A program', token: (name) => `A program with the token “${name}”` },
  about: (source, time) => `${source} · ${time}`,
};
