import type { ChannelErrorCode, LimitScope } from '../domain/channel-error.ts';
import type { EgressResponse } from '../runtime/egress/egress.ts';
import { jsonOf, limitReached, quote, retryAtMs } from './answer.ts';
import { acceptedAfter, type Purpose } from './http.ts';
import { NetworkError } from './network.ts';

export type RefusedRequest = {
  readonly purpose: Purpose;
  /** Must not appear in the message, and neither must the other secrets. */
  readonly accessToken?: string;
  readonly secrets?: readonly string[];
  readonly isReply?: boolean;
  readonly fileName?: string | undefined;
  readonly version?: string;
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

export function answersIn<Said extends object>(dialect: Dialect<Said>) {
  const { name, read, wordsOf, refusals } = dialect;

  /** The content of an error response; empty when the network did not write it. */
  const saidIn = (response: EgressResponse): Partial<Said> => read(jsonOf(response)) ?? {};

  /** Converts an error response to a NetworkError. */
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

  /** For a success status with an unexpected body: the post may exist all the same. */
  const unreadable = (purpose: Purpose): NetworkError =>
    new NetworkError('network_unavailable', `${name} returned an unexpected response.`, {
      accepted: acceptedAfter(purpose, false),
      server: 'answered',
    });

  /** The content of a response. @throws NetworkError for a refusal or an unexpected response. */
  const answerOf = <T>(response: EgressResponse, request: RefusedRequest, answer: Read<T>): T => {
    if (!isSuccess(response)) {
      throw refusal(response, request);
    }

    const value = answer(jsonOf(response));
    if (value === null) {
      throw unreadable(request.purpose);
    }
    return value;
  };

  /** Whether the network itself says that the subject of a request does not exist. */
  const isGone = (response: EgressResponse, request: RefusedRequest): boolean =>
    response.status === 404 && dialect.saysGone?.(saidIn(response), request) === true;

  return { saidIn, refusal, unreadable, answerOf, isGone };
}

export type Read<T> = (value: unknown) => T | null;

export const isSuccess = ({ status }: EgressResponse): boolean => status >= 200 && status < 300;

const fits = <Said>(one: Refusal<Said>, refused: Refused<Said>): boolean =>
  (one.status === undefined || [one.status].flat().includes(refused.status)) &&
  (one.on === undefined || one.on === refused.purpose) &&
  (one.if?.(refused) ?? true);
