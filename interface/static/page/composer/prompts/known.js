/** The prompts of the person who types: asked for once, and again after they were changed here. */

import { createLibraryApi } from '../settings/library_api.js';
import { promptNamed } from './prompts_model.js';

const sources = new WeakMap();

function createSource({ api, events }) {
  let prompts = null;
  let loading = null;
  events.on('prompts:changed', () => {
    prompts = null;
    loading = null;
  });

  function load() {
    loading ??= createLibraryApi(api).prompts.list({ quiet: true }).then((found) => {
      prompts = found;
      return found;
    }).catch((error) => {
      loading = null;
      throw error;
    });
    return loading;
  }

  return {
    /** Those that are known by now; `onMore` is called once when they come later. */
    now(onMore = () => {}) {
      // Who types does not wait for them: where they don't come, commands alone are offered.
      if (!prompts) load().then(onMore, () => {});
      return prompts ?? [];
    },
    /** @param {string} name @returns {Promise<object|undefined>} */
    named: async (name) => promptNamed(await load(), name),
  };
}

/** @param {{api: object, events: object}} page what views share */
export function promptsOf(page) {
  if (!sources.has(page.api)) sources.set(page.api, createSource(page));
  return sources.get(page.api);
}
