import {
  type ChannelStatus,
  finalEventType,
  isFinal,
  type PostStatus,
} from '../../../domain/statuses.ts';
import type { PostSteps } from '../post-steps.ts';
import type { SimulatedWorkflow } from './simulated-workflow.ts';
import type { UnreliableNetwork } from './unreliable-network.ts';

export type ChannelRow = {
  readonly platform: string;
  readonly status: ChannelStatus;
  readonly url: string | null;
  readonly error: string | null;
  readonly retry_at: string | null;
  readonly sent_text: string | null;
  /** Ledger rows whose part is live. */
  readonly sent: number;
  /** Ledger rows that are open. */
  readonly open: number;
};

export type PostRow = {
  readonly status: PostStatus;
  readonly revision: number;
  readonly synced_revision: number;
  readonly scheduled_at: string | null;
  readonly published_at: string | null;
  /** The same as in a sync. */
  readonly due_at: string | null;
  /** The types of its events, in order. */
  readonly events: readonly string[];
  readonly channels: readonly ChannelRow[];
};

/** Reads a post with everything that `faultsOf` checks, in one statement. */
export async function readPost({ deps, workspaceId }: PostSteps, post: string): Promise<PostRow> {
  const [row] = await deps.orm.em.fork().execute<PostRow[]>(
    `select p.status, p.revision, p.synced_revision, p.scheduled_at, p.published_at, coalesce(p.retried_at, p.scheduled_at) as due_at,
       (select coalesce(json_agg(e.type order by e.run), '[]') from events e where e.post_id = p.id and e.run is not null) as events,
       (select coalesce(json_agg(json_build_object('platform', c.platform, 'status', pc.status, 'url', pc.url,
          'error', pc.error, 'retry_at', pc.retry_at, 'sent_text', pc.sent_text,
          'sent', (select count(*) from post_parts a where a.post_channel_id = pc.id and a.state = 'sent'),
          'open', (select count(*) from post_parts a where a.post_channel_id = pc.id and a.state = 'sending')
        )), '[]') from post_channels pc join channels c on c.id = pc.channel_id where pc.post_id = p.id) as channels
     from posts p where p.id = ? and p.workspace_id = ?`,
    [post, workspaceId],
  );
  if (!row) {
    throw new Error('The post is gone.');
  }

  return row;
}

/** A channel's allowed statuses, by its post's status. */
const legal: Readonly<Record<PostStatus, readonly ChannelStatus[]>> = {
  draft: ['draft', 'publishing', 'retrying', 'published', 'failed', 'unconfirmed'],
  scheduled: ['scheduled', 'publishing', 'retrying', 'published', 'failed', 'unconfirmed'],
  publishing: ['scheduled', 'publishing', 'retrying', 'published', 'failed', 'unconfirmed'],
  published: ['published'],
  failed: ['published', 'failed', 'unconfirmed'],
};

/** @returns the faults of a post, as sentences. */
export function faultsOf(
  post: PostRow,
  workflow: SimulatedWorkflow,
  networks: Readonly<Record<string, UnreliableNetwork>>,
): string[] {
  const { status, channels } = post;
  const must = (holds: boolean, fault: string): string[] => (holds ? [] : [fault]);
  const isUnsynced = post.synced_revision < post.revision;
  // For a draft: its workflow claims it once more, or the relay starts a workflow that does.
  const isToBeFinished = isUnsynced || workflow.run !== null;
  const published = channels.filter((channel) => channel.status === 'published');
  const end = finalEventType(channels.map((channel) => channel.status));
  return [
    ...must(
      !['published', 'failed'].includes(status) || post.events.at(-1) === end,
      'Its last event differs from its status.',
    ),
    ...must(status !== 'draft' || post.scheduled_at === null, 'A draft has a time.'),
    ...must(status !== 'scheduled' || post.scheduled_at !== null, 'A scheduled post has no time.'),
    ...must(status !== 'failed' || published.length < channels.length, 'Nothing has failed.'),
    ...must((post.published_at !== null) === published.length > 0, 'published_at is wrong.'),
    ...must(
      !['scheduled', 'publishing'].includes(status) || isUnsynced || workflow.run !== null,
      'No workflow continues it.',
    ),
    ...must(
      !channels.some((channel) => channel.status === 'publishing') ||
        (workflow.run?.sending ?? null) !== null ||
        workflow.run?.isAsking === true ||
        (status === 'draft' && isToBeFinished),
      'No workflow sends a channel that is being sent.',
    ),
    ...must(
      status !== 'draft' ||
        !channels.some((channel) => channel.status === 'retrying') ||
        isToBeFinished,
      'No workflow finishes a channel that a cancel left in progress.',
    ),
    ...channels.flatMap((channel) => channelFaults(status, channel, networks[channel.platform])),
  ];
}

function channelFaults(
  post: PostStatus,
  channel: ChannelRow,
  network: UnreliableNetwork | undefined,
): string[] {
  const { platform, status, url, error, retry_at: retryAt, sent_text: sentText } = channel;
  const live = network?.live ?? [];
  const first = live.find(({ part }) => part === 0);
  const has = status === 'published';
  const parts = new Set(live.map(({ part }) => part));
  const late = network?.late.length ?? 0;
  const faults = {
    [`is ${status} on a post that is ${post}`]: !legal[post].includes(status),
    'is live twice': parts.size !== live.length,
    'has a wrong retry_at': (status === 'retrying') !== (retryAt !== null),
    'has no error': ['failed', 'unconfirmed', 'retrying'].includes(status) && !error,
    'has an old error': ['draft', 'scheduled', 'published'].includes(status) && error !== null,
    'is published with a url or text that differs from the live part':
      has && (url !== first?.sent.url || sentText !== first?.text),
    'has no url, or has one without being published': has !== (url !== null),
    'has failed although a part is open': status === 'failed' && channel.open > 0,
    'has more or fewer live parts than sent rows':
      channel.open === 0 && live.length + late !== channel.sent,
    'is published with an open part': has && channel.open > 0,
  };
  return Object.entries(faults).flatMap(([fault, holds]) =>
    holds ? [`${platform} ${fault}.`] : [],
  );
}

/** The faults of a post after its last step. */
export function restFaults({ status, channels }: PostRow): string[] {
  const open = channels.filter((channel) => !isFinal(channel.status));
  const isDraft = status === 'draft' && open.every((channel) => channel.status === 'draft');
  const isOver = (status === 'published' || status === 'failed') && open.length === 0;
  return isDraft || isOver ? [] : [`It stays ${status} for ever.`];
}
