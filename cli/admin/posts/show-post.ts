import { IsolationLevel } from '@mikro-orm/core';
import { sql } from 'kysely';
import { shownStatus } from '../../../db/channel-status.ts';
import { openInSql } from '../../../db/ledger/parts.ts';
import { query } from '../../../db/query.ts';
import { AppError } from '../../../domain/errors.ts';
import { outcomeOf, type PostStatus, type ShownChannelStatus } from '../../../domain/statuses.ts';
import { postWorkflowId } from '../../../workflows/messages.ts';
import { beginning, oneLine } from '../../table.ts';
import { adminCommand } from '../command.ts';
import { changesOf, findPost, postArgs, type OperatedPost } from './lifecycle.ts';

/** Reads the database only, so it works while Temporal is unavailable. */
export const showPost = adminCommand({
  brief: 'Shows the history of a post: channels, attempts, events, deliveries and its workflow',
  args: postArgs,
  run: async ({ em, workflowLink, now }, { post: given }) => {
    const of = await findPost(em, given);
    const snapshot = { isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true };
    const { found, rows, steps } = await em.transactional(
      async (within) => ({
        found: await query(within, selectPost(of)),
        rows: await query(within, selectChannels(of)),
        steps: await query(within, selectSteps(of)),
      }),
      snapshot,
    );
    const [post] = found;
    if (!post) {
      throw new AppError('not_found', `There is no post "${given}" any more.`);
    }

    const channels = rows.map(withBeginning);
    const all = [
      ...ofPost(post, now()),
      ...channels.flatMap((row) => ofChannel(row, now())),
      ...steps,
    ];
    const story = all
      .flatMap(({ at, what }) => (at ? [{ at: at.toISOString(), what: oneLine(what) }] : []))
      .toSorted((a, b) => a.at.localeCompare(b.at));
    const id = postWorkflowId(post.id);
    const workflow = { id, link: workflowLink(id) };
    const { body: _body, thread, ...rest } = post;
    const text = beginning(thread?.[0] ?? post.body ?? '(none)', 80);
    const lines = [
      ...aboutPost(post, channels, text),
      `Workflow ${id}  ${workflow.link ?? '(no link: PUNCTUAL_TEMPORAL_UI_URL is not set)'}`,
      '',
      ...channels.map((channel) => aboutChannel(channel, post, now())),
      ...(channels.length > 0 ? [''] : []),
      ...story.map(({ at, what }) => `${at}  ${what}`),
    ];
    const shown = { ...rest, text, parts: thread?.length ?? 1 };
    return { text: lines.join('\n'), data: { post: shown, channels, workflow, story } };
  },
});

type PostRow = {
  readonly id: string;
  readonly workspace_id: string;
  readonly status: PostStatus;
  readonly body: string | null;
  readonly thread: readonly string[] | null;
  readonly files: number;
  readonly scheduled_at: Date | null;
  readonly retried_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly published_at: Date | null;
  readonly revision: number;
  readonly synced_revision: number;
  readonly run: number;
};

const selectPost = ({ workspaceId, postId }: OperatedPost) => sql<PostRow>`
  select id, workspace_id, status, body, thread, scheduled_at, retried_at, created_at, updated_at, published_at,
    revision, synced_revision, run, (select count(*)::int from post_media m
      where m.post_id = p.id and m.workspace_id = p.workspace_id and m.part >= 0) as files
  from posts p where id = ${postId} and workspace_id = ${workspaceId}`;

type ChannelRow = {
  readonly channel_id: string;
  readonly platform: string;
  readonly handle: string;
  /** The state of the account. */
  readonly state: string;
  /** End of a rate limit of the account or its server, also a past one. */
  readonly parked_until: Date | null;
  readonly status: ShownChannelStatus;
  readonly url: string | null;
  readonly error: string | null;
  readonly error_code: string | null;
  readonly retry_at: Date | null;
  readonly tries: number;
  readonly published_at: Date | null;
  readonly settled_at: Date | null;
  readonly warning: string | null;
  readonly sent_warning: string | null;
  readonly own_text: string | null;
};

const selectChannels = ({ workspaceId, postId }: OperatedPost) => sql<ChannelRow>`
  select pc.channel_id, c.platform, c.handle, c.state, c.parked_until, ${shownStatus} as status, pc.url, pc.error,
    pc.error_code, pc.retry_at, pc.tries, pc.published_at, pc.settled_at, pc.warning, pc.sent_warning,
    pc.body as own_text
  from post_channels pc join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
  join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id
  where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId} order by pc.position`;

/** A past or a future step. Without a time it has not been and is not planned. */
type Step = { readonly at: Date | null; readonly what: string };

/** What happened to the parts, events and deliveries of a post. */
const selectSteps = ({ workspaceId, postId }: OperatedPost) => sql<Step>`
  with parts as (
    select pp.*, c.platform || ' ' || c.handle || ', part ' || (pp.part + 1) || ', run ' || pp.run as name
    from post_parts pp join post_channels pc on pc.id = pp.post_channel_id and pc.workspace_id = pp.workspace_id
    join channels c on c.id = pc.channel_id and c.workspace_id = pc.workspace_id
    where pc.post_id = ${postId} and pc.workspace_id = ${workspaceId}
  ), sent as (
    select d.*, 'webhook ' || d.endpoint_id || ', delivery ' || d.id as name
    from deliveries d join events e on e.id = d.event_id and e.workspace_id = d.workspace_id
    where e.post_id = ${postId} and e.workspace_id = ${workspaceId}
  )
  select created_at as at, name || ': the intent was recorded' as what from parts
  union all
  select sending_at, name || ': the request was sent' ||
    case when ${openInSql('parts')} then '; the outcome is open' else '' end from parts
  union all
  select updated_at, name || ': ' || case state when 'sent' then 'it is live'
    else 'not published, or removed since; not sent again automatically' end || coalesce(': ' || url, '')
  from parts where state in ('sent', 'refused')
  union all
  select created_at, 'event ' || type || coalesce(' of run ' || run, '') || ' (' || id || ')'
  from events where post_id = ${postId} and workspace_id = ${workspaceId}
  union all
  select * from (${changesOf(postId, 'post.%')}) changes
  union all
  select a.created_at, sent.name || ', attempt ' || a.number || ': ' || concat_ws(' ', a.response_status, a.error)
  from delivery_attempts a join sent on sent.id = a.delivery_id and sent.workspace_id = a.workspace_id
  union all
  select coalesce(next_attempt_at, created_at), name || coalesce(': failed, ' || error, ': the next attempt')
  from sent where status = 'pending' or error is not null
  order by at`;

const ofPost = (post: PostRow, now: Date): Step[] => [
  {
    at: post.scheduled_at,
    what: post.scheduled_at !== null && post.scheduled_at > now ? 'it is due' : 'it was due',
  },
  { at: post.retried_at, what: 'a retry was asked for' },
];

function ofChannel(channel: ChannelRow, now: Date): Step[] {
  const name = `${channel.platform} ${channel.handle}`;
  const isPast = channel.retry_at !== null && channel.retry_at < now;
  return [
    { at: channel.published_at, what: `${name}: published` },
    { at: channel.settled_at, what: `${name}: settled by a person` },
    {
      at: channel.retry_at,
      what: `${name}: the next attempt ${isPast ? 'was due' : 'is due'}, after ${channel.error_code ?? 'a failure'}`,
    },
  ];
}

const withBeginning = (channel: ChannelRow): ChannelRow => ({
  ...channel,
  own_text: channel.own_text && beginning(channel.own_text, 80),
});

function aboutPost(post: PostRow, channels: readonly ChannelRow[], text: string): string[] {
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
    `Text: ${text}${parts}`,
    synced < revision
      ? `Temporal is behind: it has revision ${synced} of ${revision}. The worker syncs it while both run.`
      : `Temporal has revision ${revision}, the newest.`,
  ];
}

function aboutChannel(channel: ChannelRow, post: PostRow, now: Date): string {
  const heading = `Channel ${channel.channel_id}, ${channel.platform} ${oneLine(channel.handle)}: ${channel.status}`;
  const hasError = channel.error !== null && channel.status !== 'publishing';
  const facts: readonly (readonly [string, string | null])[] = [
    [channel.error_code ?? 'Error', hasError ? channel.error : null],
    ['Warning', channel.warning],
    ['Warning', channel.sent_warning],
    ['Its own text', channel.own_text],
    ['The account', channel.state === 'connected' ? null : channel.state],
  ];
  return [
    heading + (channel.url === null ? '' : `  ${oneLine(channel.url)}`),
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`  ${name}: ${oneLine(value)}`])),
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
