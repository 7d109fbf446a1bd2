/** The account and the server's settings: the routes over `core/api.js`. Loaded by what needs them. */

import { LONG_PATIENCE_MS } from '../core/api.js';

const part = encodeURIComponent;

/** @param {ReturnType<typeof import('../core/api.js').createApi>} api */
export function createSettingsApi(api) {
  return {
    chooseLanguage: (language) => api.put('/language', { language }),
    account: () => api.get('/get_user_info'),
    rename: (name) => api.put('/get_user_info', { name }),
    async about() {
      const [detail, preference] = await Promise.all([api.get('/get_user_detail'), api.get('/get_user_preference')]);
      return { detail, preference };
    },
    /** What is as it was is left alone: somebody may have changed it elsewhere. */
    async tellAbout({ detail, preference }, before) {
      if (detail.text !== before.detail.text) await api.post('/modify_user_detail', detail);
      if (preference.text !== before.preference.text) await api.post('/modify_user_preference', preference);
    },
    changePassword: (current, next) => api.put('/password', { current_password: current, new_password: next }),
    sessions: () => api.get('/sessions'),
    endSession: (sessionId) => api.delete(`/sessions/${part(sessionId)}`),
    endOtherSessions: () => api.delete('/sessions'),
    tokens: () => api.get('/api_tokens'),
    createToken: (token) => api.post('/api_tokens', token),
    revokeToken: (tokenId) => api.delete(`/api_tokens/${part(tokenId)}`),
    agents: () => api.get('/api/agents'),
    createAgent: (agent) => api.post('/api/agents', agent),
    replaceAgent: (agentId, agent) => api.put(`/api/agents/${part(agentId)}`, agent),
    deleteAgent: (agentId) => api.delete(`/api/agents/${part(agentId)}`),
    /** Waits for the answer: `{answer, conversationId}`. */
    askAgent: (agentId, question) => api.post('/api/tools/ask_agent', { agentId, question }, { patience: LONG_PATIENCE_MS }),
    recipes: () => api.get('/api/recipes'),
    inboxes: () => api.get('/api/inbox'),
    inbox: (agentId) => api.get(`/api/inbox/${part(agentId)}?limit=50`),
    /** Waits for the answer: `{activity, answer, error}`. */
    serviceInbox: (agentId) => api.post(`/api/inbox/${part(agentId)}/service`, {}, { patience: LONG_PATIENCE_MS }),
    retryInbox: (agentId, activityId) => api.post(`/api/inbox/${part(agentId)}/retry`, { activity_id: activityId }),
    toolServers: () => api.get('/api/tool_servers'),
    addToolServer: (server) => api.post('/api/tool_servers', server),
    changeToolServer: (name, change) => api.patch(`/api/tool_servers/${part(name)}`, change),
    removeToolServer: (name) => api.delete(`/api/tool_servers/${part(name)}`),
    /** Waits for that server, which may take a while. */
    tryToolServer: (name) => api.post(`/api/tool_servers/${part(name)}/try`, {}, { patience: LONG_PATIENCE_MS }),
    limits: () => api.get('/limits'),
    /** One page of the accounts: `{items, cursor}`. @param {{q: string, limit: number, cursor: string|null}} query */
    people: (query) => api.getPage('/users', query),
    createPerson: (person) => api.post('/users', person),
    passwordLink: (email) => api.post(`/users/${part(email)}/password_link`, {}),
    deletePerson: (email) => api.delete(`/users/${part(email)}`),
    deleteAccount: (password) => api.delete('/account', { password }),
    changeRole: (email, role) => api.put(`/users/${part(email)}/role`, { role }),
    invitations: () => api.get('/invitations'),
    invite: (invitation) => api.post('/invitations', invitation),
    withdrawInvitation: (invitationId) => api.delete(`/invitations/${part(invitationId)}`),
    changePerson: (email, change) => api.put(`/users/${part(email)}`, change),
  };
}
