/** What was used, and what administrators see: the routes over `core/api.js`. Only the settings need them. */

const part = encodeURIComponent;

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createAdministrationApi(api) {
  return {
    usage: () => api.get('/usage'),
    /** One page of the accounts with their use: `{items, cursor}`. @param {{q: string, limit: number, cursor: string|null}} query */
    administeredPeople: (query) => api.getPage('/admin/people', query),
    changeQuota: (email, quota) => api.put(`/admin/people/${part(email)}/quota`, quota),
    jobs: () => api.get('/admin/jobs'),
    retryJob: (jobId) => api.post(`/admin/jobs/${part(jobId)}/retry`, {}),
    health: () => api.get('/admin/health'),
    /** The latest acts first. @param {{act: string, subject: string, before: number|null}} which '' for all */
    audit: ({ act, subject, before }) => api.get(`/admin/audit?${new URLSearchParams({ act, subject, ...(before === null ? {} : { before }) })}`),
  };
}
