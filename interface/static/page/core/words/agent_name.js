import { shellStrings } from '../../strings/en/shell.js';

/** What the server calls the agent that everybody has, until it is renamed. */
const NAMED_BY_THE_SERVER = 'Global Assistant';

/** An agent's title as people call it here: the agent that everybody has is called so in each language. @param {string} title */
export const agentName = (title) => (title === NAMED_BY_THE_SERVER ? shellStrings.globalAssistant : title);

/** The title to store for a name that a person sees, or typed. @param {string} name */
export const agentTitle = (name) => (name === shellStrings.globalAssistant ? NAMED_BY_THE_SERVER : name);
