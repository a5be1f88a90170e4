import type { Json } from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { sendRequest } from '../send-request.ts';
import { refusal, serverName } from './client.ts';
import { readInstance, settingsOf } from './settings.ts';

/**
 * Asks a server for its limits, as anybody may. One that it does not tell is left out.
 *
 * @throws NetworkError when it does not answer, or not so.
 */
export async function readLimits(http: Egress, baseUrl: string): Promise<Record<string, Json>> {
  const path = '/api/v2/instance';
  const response = await sendRequest(
    { http, baseUrl },
    { method: 'GET', path, purpose: 'prepare' },
    serverName,
  );
  if (response.status !== 200) {
    throw refusal(response, { purpose: 'prepare', accessToken: '' });
  }

  return { ...settingsOf(readInstance(jsonOf(response)) ?? {}) };
}
