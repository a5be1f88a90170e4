import type { Platform } from '../plan/platforms.ts';
import type { Label } from '../plan/texts.ts';

export type LineRequest = {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** What a line answers in place of its network. */
export type LineAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
};

/** How a network's requests and answers look from outside. Knows nothing of the adapters that it watches. */
export type LinePlatform = {
  readonly platform: Platform;
  /** The texts of the posts that a request would make; empty when it would make none. */
  readonly labels: (request: LineRequest) => Label[];
  /** Whose request it is; empty when it does not say. */
  readonly accountOf: (request: LineRequest) => string;
  /** Takes note of what the network answered, where later requests are known by it. */
  readonly answered?: (request: LineRequest, answer: AnswerHead) => void;
  /** Longer than the product waits for an answer to the request that makes a post, in milliseconds. */
  readonly beyondTimeoutMs: number;
  /** What the network answers when it does not want a post. */
  readonly refusal: LineAnswer;
  readonly tooMany: (retryAfterSeconds: number) => LineAnswer;
  readonly broken: LineAnswer;
};

export type AnswerHead = Pick<LineAnswer, 'status'> & { readonly headers: LineRequest['headers'] };

/** Of requests with a small body, which the product gives up after 30 s. */
export const usualTimeoutMs = 32_000;

export function tokenOf({ headers }: LineRequest): string {
  return String(headers['authorization'] ?? '').replace(/^Bearer /v, '');
}
