import { AppError } from '../../domain/errors.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import type { CommandAnswer, CommandDeps } from '../command.ts';
import { loadStory, type ChannelRow, type PostRow, type StoryRows } from './load-story.ts';
import { findPost } from './operated.ts';
import { tellStory } from './tell-story.ts';
import { beginning, instant, oneLine } from './words.ts';

/**
 * A post's whole story, from all tables that know of it. Temporal is not asked: the command works while it is away.
 *
 * @throws AppError `not_found`
 */
export async function showPost(
  { em, workflowLink, now }: CommandDeps,
  { POST: given = '' }: Readonly<Record<string, string>>,
): Promise<CommandAnswer> {
  const rows = await loadStory(em, await findPost(em, given));
  if (!rows) {
    throw new AppError('not_found', `There is no post "${given}" any more.`);
  }

  const story = tellStory(rows, now());
  const workflowId = postWorkflowId(rows.post.id);
  const workflow = { id: workflowId, link: workflowLink(workflowId) };
  const lines = [
    ...aboutPost(rows.post),
    aboutWorkflow(workflow),
    '',
    ...rows.channels.map(aboutChannel),
    ...(rows.channels.length > 0 ? [''] : []),
    ...story.map(({ at, what }) => `${at}  ${what}`),
  ];
  return { text: lines.join('\n'), data: { ...asData(rows), workflow, story } };
}

function aboutPost(post: PostRow): string[] {
  const { id, workspace_id: workspace, status, run, revision, synced_revision: synced } = post;
  const parts = post.thread === null ? '' : ` (the first of ${post.thread.length} parts)`;
  const files = post.files === 0 ? '' : `, ${post.files} ${post.files === 1 ? 'file' : 'files'}`;
  return [
    `Post ${id}: ${status}, run ${run}${files}`,
    `Workspace ${workspace}`,
    `Text: ${beginning(textOf(post))}${parts}`,
    synced < revision
      ? `Temporal has yet to hear of revision ${revision}; it knows of ${synced}. The worker tells it while both run.`
      : `Temporal knows of revision ${revision}, the newest.`,
  ];
}

const textOf = ({ thread, body }: PostRow): string => thread?.[0] ?? body ?? '(none)';

function aboutChannel(channel: ChannelRow): string {
  const heading = `Channel ${channel.channel_id}, ${channel.platform} ${oneLine(channel.handle)}: ${channel.status}`;
  const parked = instant(channel.parked_until);
  return [
    heading + (channel.url === null ? '' : `  ${oneLine(channel.url)}`),
    ...(channel.error === null ? [] : [`  ${channel.error_code}: ${oneLine(channel.error)}`]),
    ...(channel.state === 'connected' ? [] : [`  The account: ${channel.state}.`]),
    ...(parked === null
      ? []
      : [`  A rate limit holds, or held, the account or its server until ${parked}.`]),
  ].join('\n');
}

type Workflow = { readonly id: string; readonly link: string | null };

const aboutWorkflow = ({ id, link }: Workflow): string =>
  `Workflow ${id}  ${link ?? '(no link: PUNCTUAL_TEMPORAL_UI_URL is not set)'}`;

/** Rows as they are, but for the texts, of which operators see the beginning. */
function asData({ post, channels, ledger, events, deliveries, attempts, finds }: StoryRows) {
  const { body: _body, thread, ...rest } = post;
  const text = beginning(textOf(post));
  return {
    post: { ...rest, text, parts: thread?.length ?? 1 },
    channels,
    ledger,
    events,
    deliveries: deliveries.map((delivery) => ({
      ...delivery,
      attempts: attempts.filter((attempt) => attempt.delivery_id === delivery.id),
    })),
    finds,
  };
}
