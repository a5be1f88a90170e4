import type { RecordedPart } from '../../../db/ledger/parts.ts';
import { isOpen } from '../../../domain/live-parts.ts';
import { AppError } from '../../../domain/errors.ts';
import { outcomeOf } from '../../../domain/statuses.ts';
import type { Options } from '../../../networks/content-rules.ts';
import { postWorkflowId } from '../../../workflows/messages.ts';
import { adminCommand } from '../command.ts';
import { beginning, oneLine } from '../../table.ts';
import { findPost, postArgs } from './lifecycle.ts';
import {
  loadRecords,
  type ChannelRow,
  type PostRecords,
  type PostRecordRow,
} from './load-records.ts';

/** Reads the database only, so it works while Temporal is unavailable. */
export const showPost = adminCommand({
  brief: 'Shows the history of a post: channels, attempts, events, deliveries and its workflow',
  args: postArgs,
  run: async ({ em, workflowLink, now }, { post: given }) => {
    const rows = await loadRecords(em, await findPost(em, given));
    if (!rows) {
      throw new AppError('not_found', `There is no post "${given}" any more.`);
    }

    const story = timelineOf(rows, now());
    const workflowId = postWorkflowId(rows.post.id);
    const workflow = { id: workflowId, link: workflowLink(workflowId) };
    const lines = [
      ...aboutPost(rows),
      aboutWorkflow(workflow),
      '',
      ...rows.channels.map((channel) => aboutChannel(channel, rows.post, now())),
      ...(rows.channels.length > 0 ? [''] : []),
      ...story.map(({ at, what }) => `${at}  ${what}`),
    ];
    return { text: lines.join('\n'), data: { ...asData(rows), workflow, story } };
  },
});

function aboutPost({ post, channels }: PostRecords): string[] {
  const { id, workspace_id: workspace, status, run, revision, synced_revision: synced } = post;
  const outcome = outcomeOf(
    status,
    channels.map((channel) => channel.status),
  );
  const parts = post.thread === null ? '' : ` (the first of ${post.thread.length} parts)`;
  const files = post.files === 0 ? '' : `, ${post.files} ${post.files === 1 ? 'file' : 'files'}`;
  return [
    `Post ${id}: ${outcome ?? status}, run ${run}${files}`,
    `Workspace ${workspace}`,
    `Text: ${beginning(textOf(post), 80)}${parts}`,
    synced < revision
      ? `Temporal is behind: it was told of revision ${synced} of ${revision}. The worker syncs it while both run.`
      : `Temporal was told of revision ${revision}, the newest.`,
  ];
}

const textOf = ({ thread, body }: PostRecordRow): string => thread?.[0] ?? body ?? '(none)';

function aboutChannel(channel: ChannelRow, post: PostRecordRow, now: Date): string {
  const heading = `Channel ${channel.channel_id}, ${channel.platform} ${oneLine(channel.handle)}: ${channel.status}`;
  return [
    heading + (channel.url === null ? '' : `  ${oneLine(channel.url)}`),
    ...(channel.error === null || channel.status === 'publishing'
      ? []
      : [`  ${channel.error_code}: ${oneLine(channel.error)}`]),
    ...[channel.warning, channel.sent_warning].flatMap((warning) =>
      warning === null ? [] : [`  Warning: ${oneLine(warning)}`],
    ),
    ...(channel.own_text === null ? [] : [`  Its own text: ${beginning(channel.own_text, 80)}`]),
    ...aboutOptions('Options', channel.options),
    ...aboutOptions("The account's defaults", channel.default_options),
    ...(channel.state === 'connected' ? [] : [`  The account: ${channel.state}.`]),
    ...aboutLimit(channel.parked_until, post.retried_at ?? post.scheduled_at, now),
  ].join('\n');
}

/** A limit that had ended when the post was due did not delay it. */
function aboutLimit(until: Date | null, due: Date | null, now: Date): string[] {
  if (until === null || (until <= now && (due === null || until <= due))) {
    return [];
  }

  const verb = until > now ? 'holds' : 'held';
  return [`  A rate limit ${verb} the account or its server until ${until.toISOString()}.`];
}

const aboutOptions = (what: string, options: Options | null): string[] =>
  options === null ? [] : [`  ${what}: ${oneLine(JSON.stringify(shortened(options)))}`];

/** Shortens long texts, such as a first comment. */
const shortened = (options: Options): Options =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      typeof value === 'string' ? beginning(value, 80) : value,
    ]),
  );

type Workflow = { readonly id: string; readonly link: string | null };

const aboutWorkflow = ({ id, link }: Workflow): string =>
  `Workflow ${id}  ${link ?? '(no link: PUNCTUAL_TEMPORAL_UI_URL is not set)'}`;

const shortenedTexts = ({ own_text: own, options, default_options: defaults }: ChannelRow) => ({
  own_text: own === null ? null : beginning(own, 80),
  options: options && shortened(options),
  default_options: defaults && shortened(defaults),
});

/** The rows, with shortened texts. */
function asData({ post, channels, ledger, events, deliveries, attempts }: PostRecords) {
  const { body: _body, thread, ...rest } = post;
  const text = beginning(textOf(post), 80);
  return {
    post: { ...rest, text, parts: thread?.length ?? 1 },
    channels: channels.map((channel) => Object.assign({}, channel, shortenedTexts(channel))),
    ledger,
    events,
    deliveries: deliveries.map((delivery) => ({
      ...delivery,
      attempts: attempts.filter((attempt) => attempt.delivery_id === delivery.id),
    })),
  };
}

/** A past or a future step. */
type Step = { readonly at: string; readonly what: string };

/** A post's steps by time, past and future. */
function timelineOf(rows: PostRecords, now: Date): Step[] {
  const steps = [
    ...ofPost(rows, now),
    ...ofChannels(rows, now),
    ...ofLedger(rows),
    ...ofEvents(rows),
    ...ofDeliveries(rows),
  ];
  return steps.toSorted((a, b) => a.at.localeCompare(b.at));
}

const step = (at: Date | null, what: string): Step[] =>
  at === null ? [] : [{ at: at.toISOString(), what }];

const ofPost = ({ post }: PostRecords, now: Date): Step[] => [
  ...step(post.created_at, 'the post was made'),
  ...step(
    post.scheduled_at,
    post.scheduled_at !== null && post.scheduled_at > now ? 'it is due' : 'it was due',
  ),
  ...step(post.retried_at, 'a retry was asked for'),
];

const ofChannels = ({ channels }: PostRecords, now: Date): Step[] =>
  channels.flatMap((channel) => {
    const name = nameOf(channel);
    return [
      ...step(channel.published_at, `${name}: published`),
      ...step(channel.settled_at, `${name}: settled by a person`),
      ...step(
        channel.retry_at,
        `${name}: the next attempt ${channel.retry_at && channel.retry_at < now ? 'was due' : 'is due'}, after ${channel.error_code ?? 'a failure'}`,
      ),
    ];
  });

const nameOf = ({ platform, handle }: { platform: string; handle: string }): string =>
  `${platform} ${oneLine(handle)}`;

const outcomes: Readonly<Partial<Record<RecordedPart['state'], string>>> = {
  sent: 'it is live',
  refused: 'not published, or removed since; not sent again automatically',
};

function ofLedger({ channels, ledger }: PostRecords): Step[] {
  return ledger.flatMap((row) => {
    const channel = channels.find(({ id }) => id === row.post_channel_id);
    const name = channel ? nameOf(channel) : row.post_channel_id;
    const what = `${name}, part ${row.part + 1}, run ${row.run}`;
    const outcome = outcomes[row.state];
    const where = row.url === null ? '' : `: ${oneLine(row.url)}`;
    return [
      ...step(row.created_at, `${what}: the intent was recorded`),
      ...step(
        row.sending_at,
        `${what}: the request was sent${isOpen(row) ? '; the outcome is open' : ''}`,
      ),
      ...(outcome ? step(row.updated_at, `${what}: ${outcome}${where}`) : []),
    ];
  });
}

const ofEvents = ({ events }: PostRecords): Step[] =>
  events.flatMap(({ id, type, run, created_at: at }) =>
    step(at, `event ${type}${run === null ? '' : ` of run ${run}`} (${id})`),
  );

const ofDeliveries = ({ deliveries, attempts }: PostRecords): Step[] => [
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
