/** English comes from the server. @see ../de/said_imports.js */
export const importWords = {};
