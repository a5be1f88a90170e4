import type { Client } from '../../support/client.ts';
import type { Punctual } from '../../support/punctual.ts';

/** Makes a post that has ended, its channels with these statuses. @returns its id. */
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
