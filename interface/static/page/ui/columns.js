/** Where the window is wide enough for a conversation and something of its size beside it. */
export const wide = matchMedia('(min-width: 1200px)');
/** Where the sidebar and the rail do not both have room beside the conversation. */
export const tight = matchMedia('(max-width: 999.98px)');
