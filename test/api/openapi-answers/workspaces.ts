import type { Client } from '../../support/client.ts';
import type { RecordAnswer } from './record-answer.ts';

/** Every response of the calls for operators that needs a case of its own. */
export async function workspaces(operator: Client, recordAnswer: RecordAnswer): Promise<void> {
  const once = { 'idempotency-key': 'once' };
  const create = (path: string, name: string) => operator.post(path, { name }, once);
  const made = await create('/workspaces', 'Ana & Co');
  recordAnswer('post /workspaces', made);
  recordAnswer('post /workspaces', await create('/workspaces', 'Ana & Co'));
  recordAnswer('post /workspaces', await create('/workspaces', 'Another'));
  const at = `/workspaces/${made.body.workspace.id}`;
  recordAnswer('get /workspaces', await operator.get('/workspaces'));
  recordAnswer('get /workspaces/{id}', await operator.get(at));
  recordAnswer('patch /workspaces/{id}', await operator.patch(at, { plan: null }));
  recordAnswer('post /workspaces/{id}/keys', await operator.post(`${at}/keys`));
  const another = { 'idempotency-key': 'key' };
  for (const _ of [1, 2]) {
    recordAnswer('post /workspaces/{id}/keys', await operator.post(`${at}/keys`, {}, another));
  }

  recordAnswer('post /workspaces/{id}/keys', await create(`${at}/keys`, 'Reused'));
  recordAnswer('delete /workspaces/{id}', await operator.delete(at));
  recordAnswer('patch /workspaces/{id}', await operator.patch(at, { name: 'Ana' }));
}
