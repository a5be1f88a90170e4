import type { Json } from '../../domain/json-schema.ts';
import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { sendNetworkRequest } from '../send-network-request.ts';
import { refusal, serverName } from './client.ts';
import { type Instance, readInstance, readOldInstance, settingsOf } from './settings.ts';

/**
 * Reads a server's public limits. Limits that it does not report are absent.
 *
 * @throws NetworkError when the server does not answer, or sends an unexpected response.
 */
export async function readLimits(http: Egress, baseUrl: string): Promise<Record<string, Json>> {
  const { response, instance } = await instanceOf((path) =>
    sendNetworkRequest({ http, baseUrl }, { method: 'GET', path, purpose: 'prepare' }, serverName),
  );
  if (response.status !== 200) {
    throw refusal(response, { purpose: 'prepare', accessToken: '' });
  }

  return { ...settingsOf(instance) };
}

/**
 * Reads a server's description, by version 1 of the call where version 2 does not exist (Mastodon before 4.0, older
 * Pleroma).
 */
export async function instanceOf(
  get: (path: string) => Promise<EgressResponse>,
): Promise<{ readonly response: EgressResponse; readonly instance: Instance }> {
  const newer = await get('/api/v2/instance');
  if (newer.status === 200) {
    return { response: newer, instance: readInstance(jsonOf(newer)) ?? {} };
  }

  const older = await get('/api/v1/instance');
  const isRead = older.status === 200;
  return { response: older, instance: (isRead && readOldInstance(jsonOf(older))) || {} };
}
