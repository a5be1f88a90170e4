import type { SandboxDeps } from '../deps.ts';
import { Refusal } from '../refusal.ts';
import type { Fate } from '../script.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'Invalid Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found Error',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};

/** A refusal with members that replace the usual ones. */
class XRefusal extends Refusal {
  readonly members: object;

  constructor(status: number, message: string, code: string, members: object) {
    super(status, message, { code });
    this.members = members;
  }
}

/** An error in X's format. Source: https://docs.x.com/x-api/fundamentals/response-codes-and-errors */
export function xProblemOf(refusal: Refusal) {
  const { status, code, message } = refusal;
  return {
    title: titles[status] ?? 'Internal Server Error',
    detail: message,
    type: code === 'about:blank' ? code : `https://api.x.com/2/problems/${code}`,
    status,
    ...(refusal instanceof XRefusal && refusal.members),
  };
}

/** X's response to an app without credits. */
const creditsDepleted = (): Refusal =>
  new XRefusal(402, 'Your account does not have any credits to fulfill this request.', 'credits', {
    title: 'CreditsDepleted',
  });

/** X's response once the owner's spend cap is reached, until the next month. */
const spendCapReached = (nowMs: number): Refusal => {
  const now = new Date(nowMs);
  const reset = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
  return new XRefusal(403, 'Your monthly spend cap has been reached.', 'credits', {
    title: 'SpendCapReached',
    reset_date: reset.toISOString().slice(0, 10),
  });
};

type Orders = Pick<SandboxDeps, 'script' | 'now'>;

/** @throws Refusal when a control call set `no-credits` or `spend-cap`. */
export function assertMoney(deps: Orders): void {
  if (deps.script.takeOrder('x', 'no-credits')) {
    throw creditsDepleted();
  }
  assertBelowCap(deps);
}

/** Tokens are free, but a reached cap blocks them too. @throws Refusal */
export function assertBelowCap({ script, now }: Orders): void {
  if (script.takeOrder('x', 'spend-cap')) {
    throw spendCapReached(now());
  }
}

export const invalid = (detail: string): Refusal =>
  new Refusal(400, detail, { code: 'invalid-request' });

export const forbidden = (detail: string): Refusal =>
  new Refusal(403, detail, { code: 'about:blank' });

export const unauthorized = (): Refusal =>
  new Refusal(401, 'Unauthorized', { code: 'about:blank' });

export const notFound = (what: string): Refusal =>
  new Refusal(404, `Could not find ${what}.`, { code: 'resource-not-found' });

export const brokeDown = (): Refusal =>
  new Refusal(500, 'Something is technically wrong.', { code: 'about:blank' });

export const duplicate = (): Refusal =>
  forbidden('You are not allowed to create a Tweet with duplicate content.');

const tooManyRequests = (resetMs: number): Refusal =>
  new Refusal(429, 'Too Many Requests', {
    code: 'about:blank',
    headers: {
      'x-rate-limit-limit': '100',
      'x-rate-limit-remaining': '0',
      'x-rate-limit-reset': String(Math.ceil(resetMs / 1000)),
    },
  });

/** X's response for a fate of the script. */
export function refusalFor(fate: Exclude<Fate, { kind: 'take' }>): Refusal {
  switch (fate.kind) {
    case 'refuse':
      return forbidden(fate.reason);
    case 'duplicate':
      return duplicate();
    case 'busy':
      return tooManyRequests(fate.resetMs);
    case 'revoked':
    case 'ended':
      return unauthorized();
  }
}
