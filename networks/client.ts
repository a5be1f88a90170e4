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

/** Requests with an account's token, in one network's dialect. */
export function networkClient<Said extends object>(dialect: Dialect<Said>, issuer: string) {
  const answers = answersIn(dialect);

  /** Sends one request with the token. Returns refusals as responses. */
  const call = (access: TokenAccess, request: NetworkRequest): Promise<EgressResponse> =>
    sendNetworkRequest(
      access.server,
      { ...request, headers: { ...bearerHeader(access), ...request.headers } },
      dialect.name,
    );

  /** One request with a checked response. @throws NetworkError for a refusal or an unexpected response. */
  const ask = async <T>(access: TokenAccess, request: NamedRequest, read: Read<T>): Promise<T> =>
    answers.answerOf(await call(access, request), { ...request, ...access }, read);

  return {
    ...answers,
    call,
    ask,

    get: (access: TokenAccess, path: string, purpose: Purpose) =>
      call(access, { method: 'GET', path, purpose }),

    getAs: <T>(access: TokenAccess, path: string, purpose: Purpose, read: Read<T>): Promise<T> =>
      ask(access, { method: 'GET', path, purpose }, read),

    /** @throws NetworkError `access_lost` when the credentials are not those of an account of this network. */
    accessWith: (server: ServerAccess, credentials: Json, purpose: Purpose): TokenAccess =>
      openAccess(server, credentials, purpose, issuer),

    /**
     * One `DELETE`. @throws NetworkError for a refusal.
     *
     * @param saysGone Whether a 404 is the network's own: that of a proxy proves nothing.
     */
    async remove(
      access: TokenAccess,
      request: Omit<NamedRequest, 'method' | 'purpose'>,
      saysGone: (said: Partial<Said>) => boolean,
    ): Promise<Removal> {
      const removing = { ...request, method: 'DELETE', purpose: 'remove' } as const;
      const response = await call(access, removing);
      if (response.status === 404 && saysGone(answers.saidIn(response))) {
        return 'not_found';
      }
      if (!isSuccess(response)) {
        throw answers.refusal(response, { ...removing, ...access });
      }

      return 'removed';
    },
  };
}
