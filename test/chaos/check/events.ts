import { isSignedWith } from '../../support/receiver.ts';
import type { PostHistory } from '../post-history.ts';
import type { AnsweredEvent } from '../parts/receiver.ts';
import { hasGrants, lossesDue } from './access.ts';
import type { Evidence, Violation } from './evidence.ts';

type Event = {
  readonly id: string;
  readonly type: string;
  readonly data: {
    readonly post?: { readonly id: string; readonly status: string };
    readonly channel?: { readonly id: string };
  };
};

/** Compares the events that the user's server received with those that were due. */
export async function checkEvents(evidence: Evidence): Promise<Violation[]> {
  const received = evidence.events.filter(({ answered }) => answered === 204);
  const events = new Map<string, Event>(
    received.map(({ body }) => {
      const event: Event = JSON.parse(body);
      return [event.id, event];
    }),
  );
  const byPost = Map.groupBy(events.values(), ({ data }) => data.post?.id ?? '');
  return [
    ...evidence.histories.flatMap((history) => checkPost(history, byPost.get(history.id) ?? [])),
    ...checkChannels(evidence, [...events.values()]),
    ...(await checkBytes(evidence)),
  ];
}

/** How many final events a post must have had: one for each time that it ended. */
export function eventsDue({ end, retries, unsureRetries, restores, settled }: PostHistory): {
  least: number;
  most: number;
} {
  const isFinal = end?.status === 'published' || end?.status === 'failed';
  const due = (isFinal ? 1 : 0) + retries;
  // A post without an end may have ended since.
  const most = due + unsureRetries + (end === null ? 1 : 0);
  // A restore loses events that were recorded since its backup, whether received or not, and ends posts without an
  // event.
  return restores > 0 ? { least: settled, most: most + restores + settled } : { least: due, most };
}

/** The ids of the final events that were accepted, by post. */
export function eventsByPost(events: readonly AnsweredEvent[]): Map<string, Set<string>> {
  const received = new Map<string, Set<string>>();
  for (const { body } of events.filter(({ answered }) => answered === 204)) {
    const { id, data }: Event = JSON.parse(body);
    if (data.post) {
      received.set(data.post.id, (received.get(data.post.id) ?? new Set()).add(id));
    }
  }

  return received;
}

/** How many events of lost access were accepted, by channel id. */
export function accessLossesByChannel(events: readonly AnsweredEvent[]): Map<string, number> {
  const eventIds = new Map<string, Set<string>>();
  for (const { body } of events.filter(({ answered }) => answered === 204)) {
    const { id, data }: Event = JSON.parse(body);
    if (data.channel) {
      eventIds.set(data.channel.id, (eventIds.get(data.channel.id) ?? new Set()).add(id));
    }
  }

  return new Map([...eventIds].map(([channel, ids]) => [channel, ids.size]));
}

function checkPost(history: PostHistory, events: readonly Event[]): Violation[] {
  const { least, most } = eventsDue(history);
  const { marker } = history.plan;
  const found = `${events.length} final events (${events.map(({ type }) => type).join(', ')})`;
  if (events.length < least) {
    return [{ invariant: 'events missing', marker, what: `${found}, but ${least} were due` }];
  }
  if (events.length > most) {
    return [{ invariant: 'events too many', marker, what: `${found}, but ${most} were due` }];
  }

  // A draft has no event of its own: it was retried, and then cancelled.
  const isTold =
    history.end?.status === 'draft' ||
    events.some(({ data }) => data.post?.status === history.end?.status);
  return least > 0 && !isTold
    ? [
        {
          invariant: 'events missing',
          marker,
          what: `no event has the status ${history.end?.status}`,
        },
      ]
    : [];
}

/** Exactly one event for each channel that lost its access, and none for the others. */
function checkChannels(evidence: Evidence, events: readonly Event[]): Violation[] {
  const { plan, histories, channels } = evidence;
  const lost = new Set(
    histories.flatMap(({ end }) =>
      (end?.channels ?? [])
        .filter(({ error_code: code }) => code === 'access_lost')
        .map(({ channel_id: id }) => id),
    ),
  );
  const restores = plan.outages.filter(({ backupAtMs }) => backupAtMs !== null).length;
  return channels.flatMap(({ id, platform }, index): Violation[] => {
    const found = events.filter(({ data }) => data.channel?.id === id).length;
    const due = lost.has(id) ? 1 : 0;
    // After a restore, the next post loses the access again.
    const isDoomed = plan.channels[index]?.revokedAtMs !== null;
    const { least, most } = hasGrants(evidence, index)
      ? lossesDue(evidence.access, index)
      : { least: due, most: isDoomed && restores > 0 ? 1 + restores : due };
    return found >= least && found <= most
      ? []
      : [
          {
            invariant: found < least ? 'events missing' : 'events too many',
            marker: '',
            what: `${platform} channel ${index}: ${found} events of lost access, but ${least === most ? least : `${least} to ${most}`} were due`,
          },
        ];
  });
}

/** Each request is signed, and all requests of one event have the same bytes. */
async function checkBytes({ events, secret }: Evidence): Promise<Violation[]> {
  const invariant = 'events changed or not signed';
  const bodies = new Map<string, string>();
  const violations: Violation[] = [];
  for (const request of events) {
    const id = eventId(request);
    if (!(await isSignedWith(secret, request))) {
      violations.push({ invariant, marker: '', what: `event ${id} has a wrong signature` });
    }
    if ((bodies.get(id) ?? request.body) !== request.body) {
      violations.push({ invariant, marker: '', what: `event ${id} came with other bytes` });
    }
    bodies.set(id, request.body);
  }

  return violations;
}

const eventId = ({ headers }: AnsweredEvent): string => String(headers['service-event-id']);
