const NONE = Object.freeze([]);

/**
 * A conversation of a brief list, with the values that such a list leaves out. Written out, since there may be 10,000.
 *
 * @param {object} brief
 * @param {string} domain of the list
 */
export const wholeOf = (brief, domain) => ({
  conversation_id: brief.conversation_id,
  title: brief.title,
  domain,
  updated_at: brief.updated_at,
  conversation_friendly_id: brief.conversation_friendly_id,
  workspace_id: brief.workspace_id,
  message_count: brief.message_count,
  flag: brief.flag ?? 'none',
  archived: brief.archived ?? false,
  stateless: brief.stateless ?? false,
  pinned: brief.pinned ?? false,
  temporary: false,
  tags: brief.tags ?? NONE,
});

/** @param {object[]} briefs @returns {Array<[string, string]>} the answers that are being written, each with its conversation */
export const runningTurns = (briefs) => briefs.flatMap(({ conversation_id: conversationId, running_answers: ids = NONE }) => ids.map((id) => [id, conversationId]));
