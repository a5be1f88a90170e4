import { restPerHungMs, slotsPerEndpoint } from '../domain/webhook-deliveries.ts';

// Limits of one worker process. They live in its memory, so an operator's number of workers multiplies them.

/** The requests to one webhook endpoint. */
type Endpoint = {
  /** The start of each request under way. */
  readonly underWay: Set<{ readonly atMs: number }>;
  /** The end of the rest after each request that timed out, newest last. */
  rests: readonly number[];
};

/** Ends a request. */
type Leave = (end: 'answered' | 'timeout' | 'unsent', nowMs: number) => void;

export type EndpointLimits = {
  /** Takes a slot. @returns null if none is free. */
  readonly enter: (endpointId: string, nowMs: number) => Leave | null;
  /** How long the endpoint's slots have been held, at most, and how many endpoints hang. */
  readonly load: (endpointId: string, nowMs: number) => { heldMs: number; hung: number };
};

/** An endpoint counts as hanging for this long after its last rest, in milliseconds. */
const hungForMs = 30_000;

/**
 * Gives each endpoint a few slots, so that one that hangs delays no other. After a timeout its slot rests, for longer the
 * more endpoints hang, until the endpoint answers.
 */
export function createEndpointLimits(): EndpointLimits {
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
    enter: (id, nowMs) => {
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
    load: (id, nowMs) => {
      const { underWay, rests } = endpoints.get(id) ?? { underWay: [], rests: [] };
      const held = [...underWay].map(({ atMs }) => nowMs - atMs);
      const resting = rests.map((untilMs) => longestRequestMs + untilMs - nowMs);
      return { heldMs: Math.max(0, ...held, ...resting), hung: countHung(nowMs) };
    },
  };
}

/** In milliseconds; see runtime/send-webhook.ts. */
const longestRequestMs = 10_000;
