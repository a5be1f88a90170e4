import type { Client } from '../../support/client.ts';
import type { RecordAnswer } from './record-answer.ts';

/** Every response of the calls for operators that needs a case of its own. */
export async function workspaces(operator: Client, recordAnswer: RecordAnswer): Promise<void> {
  const made = await operator.post('/workspaces', { name: 'Ana & Co' });
  recordAnswer('post /workspaces', made);
  const at = `/workspaces/${made.body.workspace.id}`;
  recordAnswer('get /workspaces', await operator.get('/workspaces'));
  recordAnswer('get /workspaces/{id}', await operator.get(at));
  recordAnswer('patch /workspaces/{id}', await operator.patch(at, { plan: null }));
  recordAnswer('post /workspaces/{id}/keys', await operator.post(`${at}/keys`));
  recordAnswer('delete /workspaces/{id}', await operator.delete(at));
  recordAnswer('patch /workspaces/{id}', await operator.patch(at, { name: 'Ana' }));
}
