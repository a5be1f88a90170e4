import type { Json } from '../../domain/json-schema.ts';
import type { EgressResponse } from '../../runtime/egress/egress.ts';
import {
  type TokenAccess,
  bearerHeader,
  openAccess,
  sendNetworkRequest,
  acceptedAfter,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from '../http.ts';
import { jsonOf } from '../answer.ts';
import { NetworkError } from '../network.ts';
import { refusal } from './refusal.ts';

/** `inReplyToTweetId` becomes `in_reply_to_tweet_id`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/**
 * The wire format of a type from X's SDK, which uses camel case. The SDK is generated from X's OpenAPI document, so the
 * compiler checks this adapter against X's contract.
 */
export type Wire<Type> = Type extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Type extends object
    ? { readonly [Name in keyof Type as SnakeCase<Name & string>]: Wire<Type[Name]> }
    : Type;

/** A response. Only used members are typed: X's schemas make almost everything optional. */
export type Answer<Data> = { readonly data: Data };

/** Ids of posts, accounts and files are numbers of up to 19 digits, as strings. */
export const idSchema = { type: 'string', pattern: '^[0-9]{1,19}$' };

/** @throws NetworkError `access_lost` when the credentials are not those of an X account. */
export const accessWith = (
  server: ServerAccess,
  credentials: Json,
  purpose: Purpose,
): TokenAccess => openAccess(server, credentials, purpose, 'X');

/** Sends one request with the token. Returns refusals as responses. */
export const call = (access: TokenAccess, request: NetworkRequest): Promise<EgressResponse> =>
  sendNetworkRequest(
    access.server,
    {
      ...request,
      headers: { ...request.headers, ...bearerHeader(access) },
    },
    'X',
  );

/**
 * One request with a checked response.
 *
 * @throws NetworkError for a refusal or an unexpected response.
 */
export async function callAs<T>(
  access: TokenAccess,
  request: NetworkRequest,
  read: (value: unknown) => T | null,
): Promise<T> {
  const response = await call(access, request);
  if (!isSuccess(response)) {
    throw refusal(response, { purpose: request.purpose, accessToken: access.accessToken });
  }

  return readAs(response, request.purpose, read);
}

export const isSuccess = ({ status }: EgressResponse): boolean => status >= 200 && status < 300;

/** @throws NetworkError for a success status with an unexpected body: the post may exist all the same. */
export function readAs<T>(
  response: EgressResponse,
  purpose: Purpose,
  read: (value: unknown) => T | null,
): T {
  const value = read(jsonOf(response));
  if (value === null) {
    throw new NetworkError('network_unavailable', 'X returned an unexpected response.', {
      accepted: acceptedAfter(purpose, false),
      server: 'answered',
    });
  }
  return value;
}
