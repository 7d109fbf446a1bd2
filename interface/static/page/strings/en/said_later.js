/** English comes from the server. @see ../de/said_later.js */
export const laterErrors = {};
export const laterWords = {};
