import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import { type Access, bearer, openAccess } from '../access-token.ts';
import {
  sendRequest,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from '../send-request.ts';
import { refusal, unreadable, type RefusedRequest } from './refusals.ts';

/** Of videos, channels, playlists and comments. */
export const idSchema = { type: 'string', pattern: '^[A-Za-z0-9_.\\-]{1,200}$' };

/** @throws NetworkError `access_lost` when the credentials are not those of a YouTube account. */
export const accessWith = (server: ServerAccess, credentials: Json, purpose: Purpose): Access =>
  openAccess(server, credentials, purpose, 'Google');

/** Sends a request with the token. Hands back refusals as they are. */
export const call = (access: Access, request: NetworkRequest): Promise<EgressResponse> =>
  sendRequest(
    access.server,
    {
      ...request,
      headers: { ...bearer(access), ...request.headers },
    },
    'YouTube',
  );

/** What a `GET` asks for: the resource, and its query. */
type Question = { readonly path: string; readonly query: Readonly<Record<string, string>> };

export const get = (
  access: Access,
  { path, query }: Question,
  purpose: Purpose,
): Promise<EgressResponse> =>
  call(access, {
    method: 'GET',
    path: `/youtube/v3/${path}?${new URLSearchParams(query)}`,
    purpose,
  });

/**
 * Reads an answer that must be a success.
 *
 * @throws NetworkError when YouTube refused, or the answer does not read.
 */
export function answerOf<T>(
  response: EgressResponse,
  refused: RefusedRequest,
  read: (value: unknown) => T | null,
): T {
  if (response.status !== 200 && response.status !== 201) {
    throw refusal(response, refused);
  }

  const value = read(jsonOf(response));
  if (value === null) {
    throw unreadable(refused.purpose);
  }
  return value;
}
