/** Where the window is wide enough for a conversation and something of its size beside it. */
export const wide = matchMedia('(min-width: 1200px)');
