/** The jsTree nodes of the sidebar. Their shapes are known to clients and tests: ids, types, attributes. */

import { formatAddress } from '../core/address.js';
import { listedTitle } from '../core/words/conversation_title.js';
import { inBrackets } from '../strings/en/count.js';
import { shellStrings } from '../strings/en/shell.js';

export const ROOT = '#';

export const workspaceNodeId = (workspaceId) => `ws_${workspaceId}`;
export const conversationNodeId = (conversationId) => `cv_${conversationId}`;
export const moreNodeId = (workspaceId) => `more_${workspaceId}`;

/** "Name (N)", the count left out when there is nothing to count. */
export function workspaceText(name, count) {
  return count > 0 ? `${name}${inBrackets(count)}` : name;
}

/** The node of a workspace below `parent`, a node id. `lazy`: what is below it is asked for when it opens. */
export function workspaceNode(workspace, { parent, text, opened, lazy }) {
  const { workspace_id: id, workspace_name: name, workspace_color: color } = workspace;
  return {
    id: workspaceNodeId(id),
    parent,
    text,
    type: 'workspace',
    state: { opened },
    ...(lazy ? { children: true } : {}),
    li_attr: { 'data-workspace-id': id, 'data-color': color || 'primary' },
    a_attr: { title: name },
  };
}

/** What a conversation is called where its marks cannot be seen: its title, its flag, whether nothing in it is kept, its tags, its answers. */
export function spokenTitle({ flag, stateless, tags = [], answering, unread, ...named }) {
  const title = listedTitle(named);
  const color = flag && flag !== 'none' ? shellStrings.flags[flag] : undefined;
  const flagged = color ? shellStrings.flagged(title, color) : title;
  const spoken = stateless ? shellStrings.unkept(flagged) : flagged;
  const answers = [answering && shellStrings.answering, !answering && unread && shellStrings.unread].filter(Boolean);
  return [spoken, ...tags.map((tag) => `#${tag}`), ...answers].join(', ');
}

/** The classes of a conversation's row: an answer is being written in it, or waits to be read. */
export function markClasses({ answering, unread }) {
  if (answering) return ['is-answering'];
  return unread ? ['is-unread'] : [];
}

/** The node of a conversation below `parent`, a node id. */
export function conversationNode(conversation, parent) {
  const { conversation_id: id, conversation_friendly_id: friendlyId } = conversation;
  const title = listedTitle(conversation);
  const flag = conversation.flag || 'none';
  const attributes = {
    'data-conversation-id': id,
    'data-flag': flag,
    'data-conversation-friendly-id': friendlyId || '',
  };
  const link = { title, 'data-conversation-id': id, href: formatAddress(id) };
  if (conversation.tags?.length > 0) link['data-tags'] = conversation.tags.map((tag) => `#${tag}`).join(' ');
  const classes = [...(flag === 'none' ? [] : [`jstree-flag-${flag}`]), ...markClasses(conversation)];
  if (classes.length > 0) attributes.class = classes.join(' ');
  if (classes.length > 0 || conversation.stateless || link['data-tags']) link['aria-label'] = spokenTitle(conversation);
  return {
    id: conversationNodeId(id),
    parent,
    text: title,
    type: 'conversation',
    ...(conversation.stateless ? { icon: 'fa fa-eye-slash' } : {}),
    li_attr: attributes,
    a_attr: link,
  };
}

/** The node that unrolls a workspace further. */
export function moreNode(workspaceId, { parent, remaining }) {
  return {
    id: moreNodeId(workspaceId),
    parent,
    text: shellStrings.sidebar.moreOf(remaining),
    type: 'more',
    li_attr: { 'data-more-of': workspaceId },
    a_attr: { title: shellStrings.sidebar.moreConversations },
  };
}
