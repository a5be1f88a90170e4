import type { Client } from '../../support/client.ts';
import type { Punctual } from '../../support/punctual.ts';

export type PublishedOn = {
  readonly channel: string;
  /** Null: they have not been read yet. */
  readonly metrics?: Readonly<Record<string, number>> | null;
  /** `published` when left out. */
  readonly status?: 'published' | 'failed' | 'unconfirmed' | 'publishing';
};

/** A post that was published at a time, with what its networks said of it since. @returns its id. */
export async function publishedPost(
  { orm }: Punctual,
  client: Client,
  at: string,
  results: readonly PublishedOn[],
  body = 'x',
): Promise<string> {
  const channels = results.map(({ channel }) => channel);
  const post = { body, channel_ids: channels, schedule_in_minutes: 60 };
  const { id } = (await client.post('/posts', post)).body.post;
  const em = orm.em.fork();
  const statuses = results.map(({ status = 'published' }) => status);
  const isOut = statuses.includes('published');
  await em.execute('update posts set status = ?, scheduled_at = ?, published_at = ? where id = ?', [
    statuses.includes('publishing')
      ? 'publishing'
      : statuses.every((status) => status === 'published')
        ? 'published'
        : 'failed',
    at,
    isOut ? at : null,
    id,
  ]);
  for (const { channel, metrics = null, status = 'published' } of results) {
    const out = status === 'published';
    await em.execute(
      `update post_channels set status = ?, published_at = ?, url = ?, metrics = ?, metrics_updated_at = ?
       where post_id = ? and channel_id = ?`,
      [
        status,
        out ? at : null,
        out ? `https://social.test/${channel}` : null,
        metrics === null ? null : JSON.stringify(metrics),
        metrics === null ? null : '2026-06-01T12:00:00.000Z',
        id,
        channel,
      ],
    );
  }

  return String(id);
}
