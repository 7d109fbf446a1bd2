/** What people are told of the server's errors, by their code. In English, the server says it itself, and more exactly. */

export const errorWords = {};
