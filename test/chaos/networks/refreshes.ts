import type { ServerResponse } from 'node:http';
import type { Journal } from '../parts/journal.ts';
import type { RefreshFault } from '../plan/faults.ts';
import type { PlannedRefreshFault } from '../plan/post-plan.ts';
import type { Directive } from '../../../sandbox/directives.ts';
import { forward, type Answer, type Server } from './forward.ts';
import type { LineRequest } from './line-platform.ts';

/** A request for new tokens that reached a network. */
export type SeenRefresh = {
  /** The channel's number. */
  readonly channel: number;
  readonly token: string;
  readonly worker: string;
  /** In milliseconds since 1970. */
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  /** `lost`: the network issued tokens and the response was cut off. `away`: any other failure. */
  readonly outcome: 'renewed' | 'lost' | 'refused' | 'away';
};

/** The refreshes of a channel with a grant, and their planned faults. */
export type Refreshes = {
  /** The channel's number. */
  readonly channel: number;
  readonly faults: PlannedRefreshes;
  /** Sets the sandbox's directive for the next refresh. */
  readonly order: (directive: Directive) => Promise<void>;
  readonly seen: SeenRefresh[];
};

/** The planned faults of refreshes, each applied once. */
export type PlannedRefreshes = {
  add(faults: readonly PlannedRefreshFault[]): void;
  take(channel: number, elapsedMs: number): PlannedRefreshFault | undefined;
};

export function plannedRefreshes(): PlannedRefreshes {
  const waiting: PlannedRefreshFault[] = [];
  return {
    add: (faults) => void waiting.push(...faults),
    take(channel, elapsedMs) {
      const index = waiting.findIndex((each) => each.channel === channel && each.atMs <= elapsedMs);
      return index === -1 ? undefined : waiting.splice(index, 1)[0];
    },
  };
}

/** The sandbox's directive for each fault. The line applies the one that is missing here. */
const directives: Readonly<Partial<Record<RefreshFault, Directive>>> = {
  'refresh answered 500': 'refresh-error',
  'refresh limited': 'refresh-busy',
  'refresh not answered': 'refresh-silent',
  'refresh answer lost': 'refresh-lost',
  'grant revoked': 'revoke',
};

const fieldsOf = ({ body }: LineRequest): URLSearchParams => new URLSearchParams(body);

export const isRefresh = (request: LineRequest): boolean =>
  request.method === 'POST' && fieldsOf(request).get('grant_type') === 'refresh_token';

export type RefreshPass = {
  readonly server: Server;
  readonly request: LineRequest;
  readonly bytes: Buffer;
  readonly response: ServerResponse;
  readonly worker: string;
  readonly journal: Journal;
  readonly killWorker: (name: string) => void;
};

/** Forwards a refresh to the network and applies its planned fault. */
export async function passRefresh(
  { channel, faults, order, seen }: Refreshes,
  { server, request, bytes, response, worker, journal, killWorker }: RefreshPass,
): Promise<void> {
  const planned = faults.take(channel, journal.elapsedMs());
  const directive = planned && directives[planned.fault];
  await (directive && order(directive));
  if (planned) {
    journal.injected(planned.fault, planned.id);
    journal.note('', `channel ${channel}: ${planned.fault}`);
  }

  const askedAtMs = Date.now();
  const answer = await forward(server, request, bytes).catch(() => null);
  const isLost = answer === null && planned?.fault === 'refresh answer lost';
  const outcome = isLost ? 'lost' : outcomeOf(answer);
  const token = fieldsOf(request).get('refresh_token') ?? '';
  seen.push({ channel, token, worker, askedAtMs, answeredAtMs: Date.now(), outcome });
  if (planned?.fault === 'killed after a refresh') {
    killWorker(worker);
    journal.disturbed();
    journal.note('', `${worker} is killed with the new tokens of channel ${channel}`);
  }
  if (answer === null || planned?.fault === 'killed after a refresh') {
    response.destroy();
    return;
  }

  response.writeHead(answer.status, answer.headers).end(answer.body);
}

/** With DPoP, a request without the server's nonce is rejected and repeated; it uses up no token. */
function outcomeOf(answer: Answer | null): SeenRefresh['outcome'] {
  if (answer?.status === 200) {
    return 'renewed';
  }
  const mayEnd = answer !== null && answer.status >= 400 && answer.status < 500;
  return mayEnd && answer.status !== 429 && !answer.body.includes('use_dpop_nonce')
    ? 'refused'
    : 'away';
}
