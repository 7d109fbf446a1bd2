/** Presets of answers' options and the prompt library: the routes over `core/api.js`. Loaded by what needs them. */

const part = encodeURIComponent;

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createLibraryApi(api) {
  const shelf = (path) => ({
    list: (options) => api.get(path, {}, options),
    add: (item) => api.post(path, item),
    replace: (id, item) => api.put(`${path}/${part(id)}`, item),
    remove: (id) => api.delete(`${path}/${part(id)}`),
  });
  return { presets: shelf('/presets'), prompts: shelf('/prompts') };
}
