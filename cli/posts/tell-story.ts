import type { LedgerRow, StoryRows } from './load-story.ts';
import { instant, oneLine } from './words.ts';

/** Something that happened, or that is still to come. */
export type Step = { readonly at: string; readonly what: string };

/** A post's story, in order of time: what has happened by now, and then what is to come. */
export function tellStory(rows: StoryRows, now: Date): Step[] {
  const steps = [
    ...ofPost(rows, now),
    ...ofChannels(rows),
    ...ofLedger(rows),
    ...ofEvents(rows),
    ...ofDeliveries(rows),
    ...ofFinds(rows),
  ];
  return steps.toSorted((a, b) => a.at.localeCompare(b.at));
}

const step = (at: Date | string | null, what: string): Step[] => {
  const when = instant(at);
  return when === null ? [] : [{ at: when, what }];
};

const ofPost = ({ post }: StoryRows, now: Date): Step[] => [
  ...step(post.created_at, 'the post was made'),
  ...step(
    post.scheduled_at,
    post.scheduled_at !== null && new Date(post.scheduled_at) > now ? 'it is due' : 'it was due',
  ),
  ...step(post.retried_at, 'a retry was asked for'),
];

const ofChannels = ({ channels }: StoryRows): Step[] =>
  channels.flatMap((channel) => {
    const name = nameOf(channel);
    return [
      ...step(channel.published_at, `${name}: published`),
      ...step(channel.settled_at, `${name}: settled by somebody who looked`),
      ...step(
        channel.retry_at,
        `${name}: the next try, after ${channel.error_code ?? 'a failure'}`,
      ),
    ];
  });

const nameOf = ({ platform, handle }: { platform: string; handle: string }): string =>
  `${platform} ${oneLine(handle)}`;

const outcomes: Readonly<Partial<Record<LedgerRow['state'], string>>> = {
  sent: 'it is live',
  refused: 'nothing came of it, and it is not sent again by itself',
};

function ofLedger({ channels, ledger }: StoryRows): Step[] {
  return ledger.flatMap((row) => {
    const channel = channels.find(({ id }) => id === row.post_channel_id);
    const name = channel ? nameOf(channel) : row.post_channel_id;
    const what = `${name}, part ${row.part + 1}, run ${row.run}`;
    const outcome = outcomes[row.state];
    const where = row.url === null ? '' : `: ${oneLine(row.url)}`;
    return [
      ...step(row.created_at, `${what}: the intent to send it was written down`),
      ...step(
        row.sending_at,
        `${what}: the network was asked to publish it${row.state === 'sending' ? '; the answer is open' : ''}`,
      ),
      ...(outcome ? step(row.updated_at, `${what}: ${outcome}${where}`) : []),
    ];
  });
}

const ofEvents = ({ events }: StoryRows): Step[] =>
  events.flatMap(({ id, type, run, created_at: at }) =>
    step(at, `event ${type} of run ${run} (${id})`),
  );

const ofDeliveries = ({ deliveries, attempts }: StoryRows): Step[] => [
  ...attempts.flatMap((attempt) => {
    const delivery = deliveries.find(({ id }) => id === attempt.delivery_id);
    const answer = [attempt.response_status, attempt.error].filter(Boolean).join(' ');
    return step(
      attempt.created_at,
      `webhook ${delivery?.endpoint_id}, delivery ${attempt.delivery_id}, attempt ${attempt.number}: ${answer}`,
    );
  }),
  ...deliveries
    .filter(({ status }) => status === 'pending')
    .flatMap(({ id, endpoint_id: endpoint, next_attempt_at: at }) =>
      step(at, `webhook ${endpoint}, delivery ${id}: the next attempt`),
    ),
];

const findings = {
  workflow_gone: 'nothing in Temporal would have published the post; it was started anew',
  overdue: 'the post was overdue though its workflow ran; it was told again',
  delivery_gone: 'nothing in Temporal would have delivered an event; it was started anew',
} as const;

const ofFinds = ({ finds }: StoryRows): Step[] =>
  finds.flatMap(({ kind, found_at: at }) => step(at, `the sweep found: ${findings[kind]}`));
