import { answerReader, jsonOf } from '../answer.ts';
import type { ServerAccess } from '../send-network-request.ts';
import { didSchema, xrpcQuery, refusal } from './client.ts';

/** Reads the response of `com.atproto.identity.resolveHandle`. */
const readDid = answerReader<{ readonly did: string }>({
  type: 'object',
  required: ['did'],
  properties: { did: didSchema },
});

/**
 * Asks a server for the DID of a handle; null when there is none.
 *
 * @throws NetworkError when the server cannot resolve at the moment.
 */
export async function resolveHandle(server: ServerAccess, handle: string): Promise<string | null> {
  const method = 'com.atproto.identity.resolveHandle';
  const response = await xrpcQuery(server, method, { handle }, 'prepare');
  if (response.status === 429 || response.status >= 500) {
    throw refusal(response, 'prepare', []);
  }

  return (response.status === 200 && readDid(jsonOf(response))?.did) || null;
}
