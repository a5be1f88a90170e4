import type { Json } from '../../domain/json-schema.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { ServerAccess } from '../send-network-request.ts';
import { didSchema, xrpcQuery, refusal, unreadable } from './client.ts';

type Description = {
  /** The DID of the server itself. */
  readonly did: string;
  readonly blobUploadLimit?: unknown;
};

/** Reads the response of `com.atproto.server.describeServer`. */
const read = answerReader<Description>({
  type: 'object',
  required: ['did'],
  properties: { did: didSchema },
});

/**
 * Asks a server for its public description.
 *
 * @throws NetworkError when the server does not answer, or sends an unexpected response.
 */
export async function describeServer(server: ServerAccess): Promise<Description> {
  const response = await xrpcQuery(server, 'com.atproto.server.describeServer', {}, 'prepare');
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
 * Asks a server for its largest file size. Servers from before July 2026 do not say; the setting then stays unchanged.
 *
 * @throws NetworkError when the server does not answer, or sends an unexpected response.
 */
export async function readLimits(http: Egress, baseUrl: string): Promise<Record<string, Json>> {
  const limit = readLimit((await describeServer({ http, baseUrl })).blobUploadLimit);
  return limit === null ? {} : { blobUploadLimit: limit };
}
