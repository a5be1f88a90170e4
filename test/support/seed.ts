import type { ActivityDeps } from '../../activities/deps.ts';
import { postContentOf } from '../../services/posts/content.ts';
import { storePost } from '../../services/posts/store-post.ts';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import { Channel } from '../../db/entities/channels.ts';
import { newId } from '../../db/new-id.ts';
import type { Platform } from '../../networks/registry.ts';
import type { ChannelStatus, PostStatus } from '../../domain/statuses.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Client } from './client.ts';
import { accountOn, type FakeNetwork } from './networks.ts';
import { usualQuotas, type Punctual } from './punctual.ts';

export type StoredChannel = {
  readonly baseUrl?: string;
  readonly platform?: Platform;
  readonly handle?: string;
  readonly settings?: Json;
};

/** The channel's secret, which the database holds sealed; no answer may contain it. */
export const channelToken = 'token-of-the-channel';

/** Stores a connected channel as `npm run admin` does, for an account without a server. @returns its id. */
export async function storeChannel(
  { orm, deps }: Punctual,
  workspaceId: string,
  {
    platform = 'mastodon',
    handle = '@ana@social.test',
    settings = {},
    baseUrl = 'https://social.test',
  }: StoredChannel = {},
): Promise<string> {
  const account = {
    baseUrl,
    remoteId: crypto.randomUUID(),
    handle,
    credentials: { accessToken: channelToken },
    session: null,
    settings,
  };
  const { id } = await connectChannel(orm.em.fork(), deps.sealer, workspaceId, platform, account);
  return id;
}

/** Connects an account of a fake network. @param account Which one, if there are several. @returns the channel's id. */
export async function addFakeChannel(
  { orm, sealer }: Pick<ActivityDeps, 'orm' | 'sealer'>,
  workspaceId: string,
  platform = 'fake',
  account: { readonly baseUrl?: string; readonly remoteId?: string } = {},
): Promise<string> {
  const { id } = await connectChannel(orm.em.fork(), sealer, workspaceId, platform, {
    baseUrl: 'https://fake.example',
    remoteId: 'me',
    handle: '@me',
    credentials: { token: 'secret' },
    session: null,
    settings: {},
    ...account,
  });
  return id;
}

/**
 * Connects an account with this fake network behind it, on an API with `fakeNetworks`.
 *
 * @param platform The network's name, unless `fake` (`fakeNetworksNamed`). @returns the channel's id.
 */
export const fakeChannel = (
  { deps }: Pick<Punctual, 'deps'>,
  workspaceId: string,
  network: FakeNetwork,
  platform = 'fake',
): Promise<string> => addFakeChannel(deps, workspaceId, platform, { remoteId: accountOn(network) });

/** Makes a post that has ended, with these statuses of its channels. @returns its id. */
export async function endedPost(
  { orm }: Punctual,
  client: Client,
  outcomes: ReadonlyMap<string, 'published' | 'failed' | 'unconfirmed'>,
): Promise<string> {
  const channels = [...outcomes.keys()];
  const post = { body: 'x', channel_ids: channels, schedule_in_minutes: 60 };
  const { id } = (await client.post('/posts', post)).body.post;
  const em = orm.em.fork();
  const failed = [...outcomes.values()].some((status) => status !== 'published');
  await em.execute(
    `update posts set status = ?, scheduled_at = now(), published_at = now(), synced_revision = revision where id = ?`,
    [failed ? 'failed' : 'published', id],
  );
  for (const [channel, status] of outcomes) {
    await em.execute(
      `update post_channels set status = ?, tries = 5, error = ?, error_code = ?, url = ?, sent_text = ?
       where post_id = ? and channel_id = ?`,
      [
        status,
        status === 'published' ? null : 'The network was away.',
        { published: null, failed: 'network_unavailable', unconfirmed: 'unconfirmed' }[status],
        status === 'published' ? 'https://social.test/1' : null,
        status === 'published' ? 'x' : null,
        id,
        channel,
      ],
    );
  }

  return String(id);
}

/** Records that the request for a post has just been sent, and that its outcome is unknown. */
export async function beginSend({ orm }: Punctual, postId: string): Promise<void> {
  await orm.em.fork().execute(
    `insert into post_parts (id, workspace_id, post_channel_id, channel_id, run, part, key, state, text, remote_data, sending_at, created_at, updated_at)
     select gen_random_uuid(), workspace_id, id, channel_id, 1, 0, id::text, 'sending', 'x', 'null', now(), now(), now()
     from post_channels where post_id = ?`,
    [postId],
  );
}

/** Puts a post and its channels, in their order, into a state that only a worker reaches. */
export async function setStatus(
  { orm }: Punctual,
  postId: string,
  status: PostStatus,
  channels: readonly ChannelStatus[] = [],
): Promise<void> {
  const em = orm.em.fork();
  const isOut = channels.includes('published');
  await em.execute(
    `update posts set status = ?, published_at = case when ? then now() else published_at end where id = ?`,
    [status, isOut, postId],
  );
  for (const [position, channelStatus] of channels.entries()) {
    const hasFailed = ['failed', 'unconfirmed', 'retrying'].includes(channelStatus);
    await em.execute(
      `update post_channels set status = ?, error = ?, error_code = ?, retry_at = ?, url = ?, sent_text = ?
       where post_id = ? and position = ?`,
      [
        channelStatus,
        hasFailed ? 'The network did not answer.' : null,
        hasFailed
          ? channelStatus === 'unconfirmed'
            ? 'unconfirmed'
            : 'network_unavailable'
          : null,
        channelStatus === 'retrying' ? new Date(Date.now() + 60_000) : null,
        channelStatus === 'published' ? `https://social.test/${position}` : null,
        channelStatus === 'published' ? 'As it went out' : null,
        postId,
        position,
      ],
    );
  }
}

/**
 * Stores the state after an API process that ends right after its commit: a scheduled post, on all channels of a
 * workspace, that was never synced.
 *
 * @returns its id.
 */
export async function storeUnsynced(
  { orm, deps }: Punctual,
  workspaceId: string,
  dueAt: string | Date,
): Promise<string> {
  const channels = await orm.em.fork().find(Channel, { workspaceId });
  const id = newId();
  const input = { body: 'secret words' };
  const post = {
    id,
    dueAt: new Date(dueAt),
    input,
    content: postContentOf(input),
    files: [],
    optionFiles: [],
    notes: [],
    key: undefined,
  };
  const noFiles = { files: [] };
  await storePost(deps, { workspaceId, quotas: usualQuotas }, channels, post, noFiles);
  return id;
}
