import type { Json } from '../../domain/json-schema.ts';
import type { Egress, EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { sendRequest } from '../send-request.ts';
import { refusal, serverName } from './client.ts';
import { type Instance, readInstance, readOldInstance, settingsOf } from './settings.ts';

/**
 * Asks a server for its limits, as anybody may. One that it does not tell is left out.
 *
 * @throws NetworkError when it does not answer, or not so.
 */
export async function readLimits(http: Egress, baseUrl: string): Promise<Record<string, Json>> {
  const { response, instance } = await instanceOf((path) =>
    sendRequest({ http, baseUrl }, { method: 'GET', path, purpose: 'prepare' }, serverName),
  );
  if (response.status !== 200) {
    throw refusal(response, { purpose: 'prepare', accessToken: '' });
  }

  return { ...settingsOf(instance) };
}

/**
 * Asks a server for its description. Where it does not support version 2 of the call (Mastodon before 4.0, older
 * Pleroma), version 1 is used.
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
