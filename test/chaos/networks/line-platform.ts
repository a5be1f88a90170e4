import type { Platform } from '../../../networks/registry.ts';
import type { Label } from '../plan/texts.ts';

export type LineRequest = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** A response that a line gives instead of its network. */
export type LineAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
};

/** The wire format of a network's requests and responses, independent of the product's adapters. */
export type LinePlatform = {
  readonly platform: Platform;
  /** The texts of the posts that a request would make; empty when it would make none. */
  readonly labels: (request: LineRequest) => Label[];
  /** The account of a request; empty when the request does not name it. */
  readonly accountOf: (request: LineRequest) => string;
  /** Records a response that later requests refer to. */
  readonly answered?: (request: LineRequest, answer: AnswerHead) => void;
  /** Longer than the product's timeout for the request that makes a post, in milliseconds. */
  readonly beyondTimeoutMs: number;
  /** The network's response when it refuses a post. */
  readonly refusal: LineAnswer;
  readonly tooMany: (retryAfterSeconds: number) => LineAnswer;
  readonly broken: LineAnswer;
};

export type AnswerHead = Pick<LineAnswer, 'status'> & { readonly headers: LineRequest['headers'] };

/** For requests with a small body, which time out in the product after 30 s. */
export const usualTimeoutMs = 32_000;

export function tokenOf({ headers }: LineRequest): string {
  return String(headers['authorization'] ?? '').replace(/^Bearer /v, '');
}
