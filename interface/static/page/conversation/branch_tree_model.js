/**
 * The questions of a conversation that were asked again, as a tree: below a question stand those that were asked again
 * after it.
 *
 * @typedef {{number: number, message_id: string, preview: string, created_at: string}} Alternative
 * @typedef {{message_id: string, branch_id: string|null, chosen: number, branches: Alternative[]}} Fork as `/branches` lists it
 * @typedef {{messageId: string, forkId: string, number: number, preview: string, createdAt: string, isChosen: boolean,
 *            isActive: boolean, children: BranchNode[]}} BranchNode `isActive`: it is part of what the transcript shows
 */

/**
 * @param {Fork[]} forks in the order in which they come in their branches
 * @returns {BranchNode[]}
 */
export function branchTree(forks) {
  const inBranch = (branchId) => forks.filter((fork) => fork.branch_id === branchId);
  return nodesOf(inBranch(null), inBranch, true);
}

/** The alternatives of the first of these forks; the other forks follow its first alternative, in whose branch they lie. */
function nodesOf([fork, ...later], inBranch, isActive) {
  if (!fork) return [];
  return fork.branches.map(({ number, message_id: messageId, preview, created_at: createdAt }) => {
    const isChosen = number === fork.chosen;
    const following = messageId === fork.message_id ? later : inBranch(messageId);
    return {
      messageId,
      forkId: fork.message_id,
      number,
      preview,
      createdAt,
      isChosen,
      isActive: isActive && isChosen,
      children: nodesOf(following, inBranch, isActive && isChosen),
    };
  });
}
