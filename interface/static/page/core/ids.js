/** A random id of 32 hexadecimal digits. `crypto.randomUUID` is missing where the page comes without TLS. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
