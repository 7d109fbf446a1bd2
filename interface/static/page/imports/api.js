/** The routes of imports, over `core/api.js`. */

const part = encodeURIComponent;

/** @param {object} api */
export function createImportsApi(api) {
  const address = (importId) => `/imports/${part(importId)}`;
  const act = (action) => (importId) => api.post(`${address(importId)}/${action}`, {});
  const cancel = act('cancel');

  return {
    /** Sends a file. @param {File} file @returns {Promise<import('./imports_model.js').Import>} */
    send: (file, { signal }) => api.upload('/import', file, { query: { name: file.name }, signal }),
    list: ({ quiet = false } = {}) => api.get('/imports', {}, { quiet }),
    details: (importId) => api.get(address(importId), {}, { quiet: true }),
    start: (importId, choice = {}) => api.post(`${address(importId)}/start`, choice),
    pause: act('pause'),
    resume: act('resume'),
    cancel,
    stop: cancel,
    undo: act('undo'),
    forget: (importId) => api.delete(address(importId)),
    reportAddress: (importId) => `${address(importId)}/report`,
  };
}
