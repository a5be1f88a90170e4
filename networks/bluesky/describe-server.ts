import type { Json } from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { ServerAccess } from '../send-request.ts';
import { didSchema, query, refusal, unreadable } from './client.ts';

type Description = {
  /** The server's own, not an account's. */
  readonly did: string;
  readonly blobUploadLimit?: unknown;
};

/** Of `com.atproto.server.describeServer`. */
const read = answerReader<Description>({
  type: 'object',
  required: ['did'],
  properties: { did: didSchema },
});

/**
 * Asks a server about itself, as anybody may.
 *
 * @throws NetworkError when it does not answer, or not so.
 */
export async function describeServer(server: ServerAccess): Promise<Description> {
  const response = await query(server, 'com.atproto.server.describeServer', {}, 'prepare');
  if (response.status !== 200) {
    throw refusal(response, 'prepare', []);
  }

  const description = read(jsonOf(response));
  if (!description) {
    throw unreadable('prepare');
  }
  return description;
}

const readLimit = answerReader<number>({ type: 'integer', minimum: 1 });

/**
 * Asks a server how large files may be. A server that does not say (those before July 2026) does not change the setting.
 *
 * @throws NetworkError when it does not answer, or not so.
 */
export async function readLimits(http: Egress, baseUrl: string): Promise<Record<string, Json>> {
  const limit = readLimit((await describeServer({ http, baseUrl })).blobUploadLimit);
  return limit === null ? {} : { blobUploadLimit: limit };
}
