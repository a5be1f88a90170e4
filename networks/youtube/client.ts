import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import { jsonOf } from '../answer.ts';
import {
  type TokenAccess,
  bearerHeader,
  openAccess,
  sendNetworkRequest,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from '../http.ts';
import type { Removal } from '../network.ts';
import { refusal, refusedAs, unreadable, type RefusedRequest } from './refusal.ts';

/** The id of a video, channel, playlist or comment. */
export const idSchema = { type: 'string', pattern: '^[A-Za-z0-9_.\\-]{1,200}$' };

/** @throws NetworkError `access_lost` when the credentials are not those of a YouTube account. */
export const accessWith = (
  server: ServerAccess,
  credentials: Json,
  purpose: Purpose,
): TokenAccess => openAccess(server, credentials, purpose, 'Google');

/** Sends a request with the token. Returns refusals as responses. */
export const call = (access: TokenAccess, request: NetworkRequest): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    {
      ...request,
      headers: { ...bearerHeader(access), ...request.headers },
    },
    'YouTube',
  );

/**
 * Deletes a video or a comment; both need the scope `youtube.force-ssl`. A comment that was left out has an id of ours,
 * which YouTube does not know.
 *
 * Source: https://developers.google.com/youtube/v3/docs/videos/delete
 */
export async function deleteResource(
  access: TokenAccess,
  about: 'video' | 'comment',
  id: string,
): Promise<Removal> {
  const path = `/youtube/v3/${about}s?${new URLSearchParams({ id })}`;
  const response = await call(access, { method: 'DELETE', path, purpose: 'remove' });
  if (response.status === 404 && refusedAs(response, `${about}NotFound`)) {
    return 'not_found';
  }

  if (response.status !== 204 && response.status !== 200) {
    throw refusal(response, { purpose: 'remove', accessToken: access.accessToken, about });
  }

  return 'removed';
}

/** A resource to `GET`, and the query. */
type Question = { readonly path: string; readonly query: Readonly<Record<string, string>> };

export const get = (
  access: TokenAccess,
  { path, query }: Question,
  purpose: Purpose,
): Promise<EgressResponse> =>
  call(access, {
    method: 'GET',
    path: `/youtube/v3/${path}?${new URLSearchParams(query)}`,
    purpose,
  });

/**
 * Reads a response that must be a success.
 *
 * @throws NetworkError for a refusal or an unexpected response.
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
