import { PostChannel } from '../../db/entities/post-channel.ts';
import type { Post } from '../../db/entities/post.ts';
import type { Em } from '../../db/orm.ts';
import type { EditedChannels } from './edit-channels.ts';
import { channelWarning, type Judgement } from './judge-post.ts';
import { bytesOf } from './post-content.ts';

/** Of a channel that nothing was sent to. */
const unsent = {
  url: null,
  error: null,
  errorCode: null,
  retryAt: null,
  sentText: null,
  metrics: null,
  metricsUpdatedAt: null,
  publishedAt: null,
};

/**
 * Writes an edited post's channels.
 *
 * @param overrides The channels' own texts after the edit, by channel id.
 * @returns how many more bytes their own texts take than before.
 */
export async function writeChannels(
  em: Em,
  { id: postId, workspaceId }: Post,
  { kept, removed, order }: EditedChannels,
  edit: {
    readonly status: 'draft' | 'scheduled';
    readonly overrides: Readonly<Record<string, string>>;
    readonly judgements: readonly Judgement[];
  },
): Promise<number> {
  const before = bytesOf([...kept.values(), ...removed].map(({ body }) => body));
  const added: (string | null)[] = [];
  for (const row of removed) {
    // Only intents that nothing came of: see mustBeUntouched.
    await em.execute('delete from post_parts where post_channel_id = ? and workspace_id = ?', [
      row.id,
      workspaceId,
    ]);
    em.remove(row);
  }

  for (const row of kept.values()) {
    row.position = order.indexOf(row.channelId);
    if (row.status === 'publishing' || row.status === 'retrying') {
      row.body = edit.overrides[row.channelId] ?? null; // For when nothing comes of what is being sent.
    }

    if (row.status === 'retrying' && edit.status === 'scheduled') {
      // It waited to be finished; now it is when the post is due, and begins with a look at what is in doubt.
      Object.assign(row, { status: edit.status, error: null, errorCode: null, retryAt: null });
    }
  }

  for (const judgement of edit.judgements) {
    const channelId = judgement.channel.id;
    const row = kept.get(channelId);
    const body = edit.overrides[channelId] ?? null;
    const warning = channelWarning(judgement);
    const { status } = edit;
    const position = order.indexOf(channelId);
    if (!row) {
      const place = { workspaceId, postId, channelId, position };
      added.push(body);
      em.create(PostChannel, { ...unsent, ...place, body, status, warning });
    } else if (row.status === 'failed' && status === 'draft') {
      // A failure of a publishing that was cancelled stays visible until the post is scheduled anew.
      Object.assign(row, { body, warning });
    } else {
      const fresh = { status, error: null, errorCode: null, retryAt: null, tries: 0 };
      Object.assign(row, { body, warning, ...fresh });
    }
  }
  return bytesOf([...kept.values()].map(({ body }) => body)) + bytesOf(added) - before;
}
