import type { Json } from '../domain/json-schema.ts';
import type { EgressResponse } from '../runtime/egress/egress.ts';
import {
  bearerHeader,
  openAccess,
  sendNetworkRequest,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
  type TokenAccess,
} from './http.ts';
import type { Removal } from './network.ts';
import { answersIn, isSuccess, type Dialect, type Read, type RefusedRequest } from './refusals.ts';

/** A request, with the names that the message of its refusal needs. */
type NamedRequest = NetworkRequest & Omit<RefusedRequest, 'accessToken'>;

/**
 * Requests with an account's token, in one network's dialect.
 *
 * @param issuer The issuer of the token, for the message: `X`, `a Mastodon server`.
 * @param headersOf Headers of each request beside the token.
 */
export function networkClient<Said extends object, Access extends TokenAccess = TokenAccess>(
  dialect: Dialect<Said>,
  issuer: string,
  headersOf: (access: Access, path: string) => NetworkRequest['headers'] = () => ({}),
) {
  const answers = answersIn(dialect);

  /** Sends one request with the token. Returns refusals as responses. */
  const call = (access: Access, request: NetworkRequest): Promise<EgressResponse> => {
    const usual = { ...bearerHeader(access), ...headersOf(access, request.path) };
    const headers = { ...usual, ...request.headers };
    return sendNetworkRequest(access.server, { ...request, headers }, dialect.name);
  };

  /** One request with a checked response. @throws NetworkError for a refusal or an unexpected response. */
  const ask = async <T>(access: Access, request: NamedRequest, read: Read<T>): Promise<T> =>
    answers.answerOf(await call(access, request), { ...request, ...access }, read);

  /** The result of a `DELETE`. @throws NetworkError for a refusal. */
  const removalOf = (response: EgressResponse, request: RefusedRequest): Removal => {
    if (!isSuccess(response) && !answers.isGone(response, request)) {
      throw answers.refusal(response, request);
    }

    return isSuccess(response) ? 'removed' : 'not_found';
  };

  return {
    ...answers,
    call,
    ask,
    removalOf,

    get: (access: Access, path: string, purpose: Purpose) =>
      call(access, { method: 'GET', path, purpose }),

    getAs: <T>(access: Access, path: string, purpose: Purpose, read: Read<T>): Promise<T> =>
      ask(access, { method: 'GET', path, purpose }, read),

    /** @throws NetworkError `access_lost` when the credentials are not those of an account of this network. */
    accessWith: (server: ServerAccess, credentials: Json, purpose: Purpose): TokenAccess =>
      openAccess(server, credentials, purpose, issuer),

    /** One `DELETE`. @throws NetworkError for a refusal. */
    async remove(access: Access, request: Omit<NamedRequest, 'method' | 'purpose'>) {
      const removing = { ...request, method: 'DELETE', purpose: 'remove' } as const;
      return removalOf(await call(access, removing), { ...removing, ...access });
    },
  };
}
