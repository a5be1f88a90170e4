import type { ChannelErrorCode, LimitScope } from '../domain/channel-error.ts';
import { having, type Json } from '../domain/json-schema.ts';
import type { EgressResponse } from '../runtime/egress/egress.ts';
import { answerReader, jsonOf, limitReached, quote, retryAtMs, tokenSchema } from './answer.ts';
import {
  acceptedAfter,
  sendNetworkRequest,
  type NetworkRequest,
  type Purpose,
  type ServerAccess,
} from './http.ts';
import { NetworkError, type Removal } from './network.ts';

export type RefusedRequest = {
  readonly purpose: Purpose;
  /** Must not appear in the message, and neither must the other secrets. */
  readonly accessToken?: string | undefined;
  readonly secrets?: readonly string[];
  readonly isReply?: boolean;
  readonly fileName?: string | undefined;
  readonly headers?: NetworkRequest['headers'] | undefined;
  /** The permission that a forbidden request needs, as the end of a sentence. */
  readonly needs?: string | undefined;
  /** The subject of the request. */
  readonly about?: 'video' | 'comment' | 'thumbnail' | 'account';
};

/** An error response, with its body as the network's dialect reads it. */
export type Refused<Said> = RefusedRequest & {
  readonly response: EgressResponse;
  readonly status: number;
  readonly said: Partial<Said>;
  readonly nowMs: number;
};

/** The meaning of some error responses: those that fit all of `status`, `on` and `if`. */
type Refusal<Said> = {
  readonly status?: number | readonly number[];
  readonly on?: Purpose;
  readonly if?: (refused: Refused<Said>) => boolean;
  readonly code: ChannelErrorCode;
  /** The sentence after the network's name. Default: that of the limit. */
  readonly saying?: string | ((refused: Refused<Said>) => string);
  readonly limit?: LimitScope | ((refused: Refused<Said>) => LimitScope);
  /** When requests are accepted again, in milliseconds since 1970. Default: as the headers say. */
  readonly untilMs?: (refused: Refused<Said>) => number | undefined;
};

export type Dialect<Said> = {
  /** At the beginning of a sentence: `The Mastodon server`. */
  readonly name: string;
  /** Reads the body of an error response; null when the network did not write it. */
  readonly read: Read<Said>;
  /** The network's message for people. */
  readonly wordsOf: (said: Partial<Said>) => string | undefined;
  /** Whether its messages end with a full stop. */
  readonly endsSentences?: boolean;
  /** Whether a 404 is the network's own, and concerns the subject of the request: that of a proxy proves nothing. */
  readonly saysGone?: (said: Partial<Said>, request: RefusedRequest) => boolean;
  /** The first that fits decides. The last one fits every response. */
  readonly refusals: readonly [...Refusal<Said>[], Refusal<Said>];
};

/** A response, as the network's dialect reads it. */
export type Answer<Said> = EgressResponse & {
  readonly said: () => Partial<Said>;
  readonly refusal: () => NetworkError;
  /** For a success status with an unexpected body: the post may exist all the same. */
  readonly unreadable: () => NetworkError;
  /** Whether the network itself says that the subject of the request does not exist. */
  readonly isGone: () => boolean;
  /** The content. */
  readonly as: <T>(read: Read<T>) => T;
};

/** Refusals that every network words alike. */
export const refusedFile = {
  code: 'media_refused',
  saying: ({ fileName }: RefusedRequest) => `refused the file "${fileName}"`,
} as const;
export const refusedPost = { code: 'content_refused', saying: 'refused the post' } as const;

/** For all other responses. */
export const unavailable = (after5xx: string, otherwise: string) =>
  ({
    code: 'network_unavailable',
    saying: ({ status }: { readonly status: number }) => (status >= 500 ? after5xx : otherwise),
  }) as const;

export function answersIn<Said extends object>(dialect: Dialect<Said>) {
  const { name, read, wordsOf, refusals } = dialect;
  const saidIn = (response: EgressResponse): Partial<Said> => read(jsonOf(response)) ?? {};

  const refusal = (response: EgressResponse, request: RefusedRequest, nowMs = Date.now()) => {
    const { status } = response;
    const refused = { ...request, response, status, said: saidIn(response), nowMs };
    const meaning = refusals.find((one) => fits(one, refused)) ?? refusals.at(-1)!;
    const { code, limit: given = 'channel', saying, untilMs } = meaning;
    const limit = typeof given === 'string' ? given : given(refused);
    const what = typeof saying === 'function' ? saying(refused) : (saying ?? limitReached[limit]);
    const { accessToken = '', secrets = [] } = request;
    const words = quote(wordsOf(refused.said), [accessToken, ...secrets]);
    const stop = dialect.endsSentences && words.endsWith('."') ? '' : '.';
    const message = `${name} ${what} (HTTP ${status})${words && `: ${words}`}${stop}`;
    return new NetworkError(code, message, {
      // After other statuses, a proxy may have answered for a server that did post.
      accepted: acceptedAfter(request.purpose, status >= 300 && status < 500 && status !== 408),
      retryAtMs: untilMs ? untilMs(refused) : retryAtMs(response, nowMs),
      limit,
      server: 'answered',
    });
  };

  const unreadable = (purpose: Purpose): NetworkError =>
    new NetworkError('network_unavailable', `${name} returned an unexpected response.`, {
      accepted: acceptedAfter(purpose, false),
      server: 'answered',
    });

  const answerTo = (
    { now = () => new Date() }: ServerAccess,
    request: RefusedRequest,
    response: EgressResponse,
  ): Answer<Said> => ({
    ...response,
    said: () => saidIn(response),
    refusal: () => refusal(response, request, now().getTime()),
    unreadable: () => unreadable(request.purpose),
    isGone: () => response.status === 404 && !!dialect.saysGone?.(saidIn(response), request),
    as: (answer) => {
      if (!isSuccess(response)) {
        throw refusal(response, request, now().getTime());
      }

      const value = answer(jsonOf(response));
      if (value === null) {
        throw unreadable(request.purpose);
      }
      return value;
    },
  });

  return { refusal, unreadable, answerTo };
}

export type Read<T> = (value: unknown) => T | null;

export const isSuccess = ({ status }: EgressResponse): boolean => status >= 200 && status < 300;

const fits = <Said>(one: Refusal<Said>, refused: Refused<Said>): boolean =>
  (one.status === undefined || [one.status].flat().includes(refused.status)) &&
  (one.on === undefined || one.on === refused.purpose) &&
  (one.if?.(refused) ?? true);

/** The result of a `DELETE`. */
export function removalOf(answer: Answer<object>): Removal {
  if (!isSuccess(answer) && !answer.isGone()) {
    throw answer.refusal();
  }

  return isSuccess(answer) ? 'removed' : 'not_found';
}

/** An account at its server: a connection, for example. */
export type Access = ServerAccess & { readonly credentials: Json };

/** A request, with the names that the message of its refusal needs. */
export type NamedRequest = NetworkRequest &
  Omit<RefusedRequest, 'accessToken' | 'secrets' | 'headers'> & {
    /** Sent without the token. */
    readonly isPublic?: boolean;
  };

const readCredentials = answerReader(having({ accessToken: tokenSchema }));

export const tokenOf = ({ credentials }: Pick<Access, 'credentials'>): string | undefined =>
  readCredentials(credentials)?.accessToken;

/**
 * Requests with an account's token, in one network's dialect.
 *
 * @param issuer The issuer of the token, for the message: `X`, `a Mastodon server`.
 */
export function networkClient<Said extends object, Own extends Access = Access>(
  dialect: Dialect<Said>,
  issuer: string,
  headersOf: (access: Own, path: string) => NetworkRequest['headers'] = () => ({}),
) {
  const answers = answersIn(dialect);

  async function call(access: Own, request: NamedRequest): Promise<Answer<Said>> {
    const accessToken = request.isPublic ? undefined : tokenOf(access);
    if (accessToken === undefined && !request.isPublic) {
      const message = `The stored credentials have no valid access token of ${issuer}.`;
      const accepted = acceptedAfter(request.purpose, true);
      throw new NetworkError('access_lost', message, { accepted });
    }

    const headers = {
      ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
      ...headersOf(access, request.path),
      ...request.headers,
    };
    const response = await sendNetworkRequest(access, { ...request, headers }, dialect.name);
    return answers.answerTo(access, { ...request, headers, accessToken }, response);
  }

  const get = (access: Own, path: string, purpose: Purpose, named?: Partial<NamedRequest>) =>
    call(access, { method: 'GET', path, purpose, ...named });

  /** One request with a checked response. */
  const ask = async <T>(access: Own, request: NamedRequest, read: Read<T>): Promise<T> =>
    (await call(access, request)).as(read);

  return {
    ...answers,
    call,
    get,
    ask,
    getAs: async <T>(access: Own, path: string, purpose: Purpose, read: Read<T>): Promise<T> =>
      (await get(access, path, purpose)).as(read),

    /** One `DELETE`. */
    async remove(access: Own, request: Omit<NamedRequest, 'method' | 'purpose'>): Promise<Removal> {
      return removalOf(await call(access, { ...request, method: 'DELETE', purpose: 'remove' }));
    },
  };
}
