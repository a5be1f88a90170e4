import type { NetworkLimit } from '../domain/channel-error.ts';
import {
  answeringMs,
  failuresToPause,
  mostOnNetwork,
  mostPerWorkspace,
  pauses,
  slotsPerServer,
  type BusyServer,
} from '../domain/pacing.ts';
import { restPerHungMs, slotsPerEndpoint } from '../domain/webhook-deliveries.ts';
import type { ServerEvidence } from '../networks/network.ts';

// Limits of one worker process. They live in its memory, so an operator's number of workers multiplies them.

export const createLimits = () => ({
  endpoints: createEndpointLimits(),
  servers: createServerLimits(),
  announced: createAnnouncedLimits(),
  /** For reads of metrics, which delay no post. */
  reads: createAnnouncedLimits(),
});

export type Limits = ReturnType<typeof createLimits>;

type Endpoint = {
  readonly underWay: Set<{ readonly atMs: number }>;
  /** The end of the rest after each request that timed out, newest last. */
  rests: readonly number[];
};

type Leave = (end: 'answered' | 'timeout' | 'unsent', nowMs: number) => void;

/** An endpoint counts as hanging for this long after its last rest, in milliseconds. */
const hungForMs = 30_000;

/** After a timeout an endpoint's slot rests, for longer the more endpoints hang, until the endpoint answers. */
export function createEndpointLimits() {
  const endpoints = new Map<string, Endpoint>();

  /** Drops old rests, and the endpoints without anything else. @returns how many hang. */
  const countHung = (nowMs: number): number => {
    let hung = 0;
    for (const [id, endpoint] of endpoints) {
      endpoint.rests = endpoint.rests.filter((untilMs) => untilMs > nowMs - hungForMs);
      hung += endpoint.rests.length > 0 ? 1 : 0;
      if (endpoint.rests.length + endpoint.underWay.size === 0) {
        endpoints.delete(id);
      }
    }

    return hung;
  };
  return {
    enter: (id: string, nowMs: number): Leave | null => {
      const endpoint = endpoints.get(id) ?? { underWay: new Set(), rests: [] };
      const resting = endpoint.rests.filter((untilMs) => untilMs > nowMs).length;
      if (endpoint.underWay.size + resting >= slotsPerEndpoint) {
        return null;
      }

      const request = { atMs: nowMs };
      endpoint.underWay.add(request);
      endpoints.set(id, endpoint);
      return (end, endMs) => {
        endpoint.underWay.delete(request);
        const restMs = Math.max(countHung(endMs) * restPerHungMs - longestRequestMs, 0);
        if (end === 'timeout') {
          endpoint.rests = [...endpoint.rests, endMs + restMs];
          endpoints.set(id, endpoint);
        } else if (end === 'answered') {
          endpoint.rests = [];
        }
      };
    },
    /** How long the endpoint's slots have been held, at most, and how many endpoints hang. */
    load: (id: string, nowMs: number) => {
      const { underWay, rests } = endpoints.get(id) ?? { underWay: [], rests: [] };
      const held = [...underWay].map(({ atMs }) => nowMs - atMs);
      const resting = rests.map((untilMs) => longestRequestMs + untilMs - nowMs);
      return { heldMs: Math.max(0, ...held, ...resting), hung: countHung(nowMs) };
    },
  };
}

/** In milliseconds; see runtime/send-webhook.ts. */
const longestRequestMs = 10_000;

type Sender = {
  readonly platform: string;
  readonly baseUrl: string;
  readonly workspaceId: string;
};

export type ServerSlot = {
  /** Null if the attempt has the slot; otherwise why there is none. */
  readonly busy: BusyServer | null;
  readonly saw: (evidence: ServerEvidence | undefined, nowMs: number) => void;
  readonly leave: () => unknown;
};

type Attempt = { readonly workspaceId: string; readonly atMs: number };

type Server = {
  readonly platform: string;
  readonly underWay: Set<Attempt>;
  answeredAtMs: number;
  /** Attempts in a row that it did not answer, and the pauses after them. */
  failures: number;
  pauses: number;
  pausedUntilMs: number;
};

/** The host, because it can answer under any number of paths. */
const hostOf = (baseUrl: string): string => /^[^\/]+\/\/[^\/]+/v.exec(baseUrl)?.[0] ?? baseUrl;

/** Gives each server of a network slots, so that one that hangs delays no other, and each workspace a share of them. */
export function createServerLimits() {
  const servers = new Map<string, Server>();

  const forgetIdle = (nowMs: number): void => {
    for (const [key, { underWay, failures, answeredAtMs }] of servers) {
      if (underWay.size === 0 && failures === 0 && nowMs - answeredAtMs >= answeringMs) {
        servers.delete(key);
      }
    }
  };
  const serverOf = (key: string, platform: string): Server => {
    const server = servers.get(key) ?? newServer(platform);
    servers.set(key, server);
    return server;
  };
  /** All attempts on a network. */
  const attemptsOn = (platform: string): Attempt[] =>
    [...servers.values()]
      .filter((server) => server.platform === platform)
      .flatMap(({ underWay }) => Array.from(underWay));
  const isFree = (server: Server, workspaceId: string, nowMs: number, part: number): boolean => {
    const slots = part * slotsOf(server, nowMs);
    const all = attemptsOn(server.platform);
    // At most as many as stay free, so that workspaces whose servers hang always leave some to others.
    const share = Math.min(mostPerWorkspace, mostOnNetwork - all.length);
    return (
      server.underWay.size < slots &&
      ownOf(server.underWay, workspaceId) < ownShare * slots &&
      ownOf(all, workspaceId) < part * share
    );
  };
  return {
    /** @param part The part of the slots that may be taken: less for requests that must not delay posts. */
    enter: ({ platform, baseUrl, workspaceId }: Sender, nowMs: number, part = 1): ServerSlot => {
      forgetIdle(nowMs);
      const key = `${platform} ${hostOf(baseUrl)}`;
      const server = serverOf(key, platform);
      const attempt = { workspaceId, atMs: nowMs };
      const busy = isFree(server, workspaceId, nowMs, part) ? null : busyOf(server, nowMs);
      if (!busy) {
        server.underWay.add(attempt);
      }

      return {
        busy,
        saw: (evidence, atMs) => evidence && note(serverOf(key, platform), evidence, atMs),
        leave: () => server.underWay.delete(attempt),
      };
    },
  };
}

/** The part of a server's slots that one workspace may hold, so that others get some. */
const ownShare = 3 / 4;

const ownOf = (attempts: Iterable<Attempt>, workspaceId: string): number =>
  [...attempts].filter((attempt) => attempt.workspaceId === workspaceId).length;

const newServer = (platform: string): Server => ({
  platform,
  underWay: new Set(),
  answeredAtMs: Number.NEGATIVE_INFINITY,
  failures: 0,
  pauses: 0,
  pausedUntilMs: Number.NEGATIVE_INFINITY,
});

function slotsOf({ failures, pausedUntilMs, answeredAtMs }: Server, nowMs: number): number {
  if (failures >= failuresToPause) {
    return pausedUntilMs <= nowMs ? 1 : 0;
  }

  return nowMs - answeredAtMs < answeringMs ? slotsPerServer.answering : slotsPerServer.silent;
}

function busyOf({ underWay, failures, pausedUntilMs }: Server, nowMs: number): BusyServer {
  const agesMs = [...underWay].map(({ atMs }) => nowMs - atMs);
  return {
    failures,
    isPaused: failures >= failuresToPause,
    pausedForMs: Math.max(pausedUntilMs - nowMs, 0),
    newestForMs: agesMs.length === 0 ? 0 : Math.max(Math.min(...agesMs), 0),
  };
}

/** Attempts that began before a pause and fail during it add no information: they make one pause only. */
function note(server: Server, evidence: ServerEvidence, nowMs: number): void {
  if (evidence === 'answered') {
    const rested = { failures: 0, pauses: 0, pausedUntilMs: Number.NEGATIVE_INFINITY };
    Object.assign(server, rested, { answeredAtMs: nowMs });
    return;
  }

  server.failures += 1;
  if (server.failures >= failuresToPause && server.pausedUntilMs <= nowMs) {
    const pauseMs = Math.min(pauses.firstMs * 2 ** server.pauses, pauses.longestMs);
    server.pausedUntilMs = nowMs + pauseMs;
    server.pauses += 1;
  }
}

type Place = Pick<Sender, 'platform' | 'baseUrl'> & { readonly channelId: string };

export function createAnnouncedLimits() {
  const networks = new Map<string, Map<string, number>>();
  /** The ends of a network's limits by channel or server; `''` is the whole network. */
  const on = (platform: string): ReadonlyMap<string, number> => networks.get(platform) ?? new Map();
  return {
    on,
    add: (place: Place, { scope, untilMs }: NetworkLimit, nowMs: number): void => {
      const { platform, baseUrl, channelId } = place;
      const limits = new Map([...on(platform)].filter(([, endMs]) => endMs > nowMs));
      const key = { channel: channelId, server: baseUrl, network: '' }[scope];
      networks.set(platform, limits.set(key, Math.max(limits.get(key) ?? 0, untilMs)));
    },
    /**
     * @param channelUntil End of the channel's own limit.
     * @returns the limit with the latest end, which may have passed; null if there was none.
     */
    longest: (
      { platform, baseUrl }: Omit<Place, 'channelId'>,
      channelUntil: Date | null,
    ): NetworkLimit | null => {
      const limits = on(platform);
      const ends = {
        channel: channelUntil?.getTime(),
        server: limits.get(baseUrl),
        network: limits.get(''),
      };
      const [longest] = (['channel', 'server', 'network'] as const)
        .flatMap((scope) => (ends[scope] === undefined ? [] : [{ scope, untilMs: ends[scope] }]))
        .toSorted((a, b) => b.untilMs - a.untilMs);
      return longest ?? null;
    },
  };
}
