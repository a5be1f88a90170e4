import type { ExecutionContext } from 'ava';
import { mastodonNetwork } from '../../../networks/mastodon/adapter.ts';
import { poll } from '../../support/poll.ts';
import { mastodonAccount } from '../../support/accounts.ts';
import { needs } from '../../support/needs.ts';
import { readerOf } from '../metrics-suite.ts';
import { partsOf, publish } from '../publish.ts';
import { connected } from './bench.ts';

const test = needs('gotosocial');
const reader = readerOf(mastodonNetwork);

/** An account's posts, and another account that reads them. */
async function withAReader(t: ExecutionContext, ...texts: readonly string[]) {
  const { client, account, connection } = await connected(t, 'read write');
  const { sent } = await publish(mastodonNetwork, connection, partsOf(...texts));
  const ids = sent.map(({ remoteId }) => remoteId);
  const someone = await mastodonAccount('read write');
  const read = async (id: string) => (await reader.read(connection, [id])).get(id);
  return { client, account, connection, ids, someone: someone.client, read };
}

test('likes, boosts and replies of another account are read', async (t) => {
  const { ids, someone, read } = await withAReader(t, 'Measure me', 'And me');
  const [first = '', second = ''] = ids;
  t.deepEqual(await read(second), { kind: 'read', metrics: { likes: 0, comments: 0, shares: 0 } });

  await someone.v1.statuses.$select(second).favourite();
  await someone.v1.statuses.$select(second).reblog();
  for (const status of ['Nice', 'Very nice']) {
    await someone.v1.statuses.create({ status, inReplyToId: second, visibility: 'public' });
  }

  const figures = { likes: 1, comments: 2, shares: 1 };
  const reading = await poll(
    () => read(second),
    (found) => found?.kind === 'read' && found.metrics.comments === 2 && found.metrics.shares === 1,
  );
  t.deepEqual(reading, { kind: 'read', metrics: figures });
  // The thread's second part is a reply to its first.
  t.like(await read(first), { metrics: { likes: 0, comments: 1, shares: 0 } });
});

test('withdrawn reactions no longer count, and a status that its owner deletes is gone', async (t) => {
  const { client, connection, ids, someone, read } = await withAReader(t, 'Here today');
  const [id = ''] = ids;
  const another = await publish(mastodonNetwork, connection, partsOf('Here tomorrow'));
  const staying = another.sent[0]?.remoteId ?? '';
  await someone.v1.statuses.$select(id).favourite();
  t.like(await read(id), { metrics: { likes: 1 } });
  await someone.v1.statuses.$select(id).unfavourite();
  t.like(await read(id), { metrics: { likes: 0 } });

  await client.v1.statuses.$select(id).remove();
  // GoToSocial deletes after it has answered.
  const readings = await poll(
    () => reader.read(connection, [id, staying]),
    (found) => found.get(id)?.kind === 'gone',
  );
  t.like(readings.get(staying), { kind: 'read' });
});

test("an account's followers are counted", async (t) => {
  const { client, account, connection, someone } = await withAReader(t, 'Follow me');
  t.is(await reader.followers?.(connection), 0);
  const { id } = await someone.v1.accounts.verifyCredentials();
  await someone.v1.accounts.$select(account.remoteId).follow();

  // The server handles a follow in the background, as a request that it may accept meanwhile.
  const allow = async (): Promise<void> => {
    const [relationship] = await client.v1.accounts.relationships.fetch({ id: [id] });
    if (!relationship?.followedBy) {
      await client.v1.followRequests
        .$select(id)
        .authorize()
        .catch((error: unknown) => t.like(error, { statusCode: 404 }));
    }
  };
  const followers = await poll(
    async () => {
      await allow();
      return reader.followers?.(connection);
    },
    (count) => count === 1,
  );
  t.is(followers, 1);
});
