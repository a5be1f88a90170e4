import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { fakeNetwork } from '../support/networks.ts';
import { ledgerWorld, type LedgerWorld } from '../support/ledger-world.ts';

const minute = 60_000;
const down = new NetworkError('network_unavailable', 'Down.', { taken: 'unknown' });

test('a send of an earlier publishing that is still in doubt is looked for, not sent again', async (t) => {
  const network = fakeNetwork();
  const world = await ledgerWorld(t, network);
  const post = await world.newPost(['Hello']);
  network.fates.push({ kind: 'lost' });
  network.blind = down;
  t.like(await post.attempt(), { kind: 'again' });

  await scheduleAnew(world, post.postId, 'Better');
  network.blind = undefined;
  t.like(await post.attempt(), { kind: 'done', status: 'published' });

  t.is(network.sends.length, 1);
  t.is((await post.row()).url, network.live[0]?.sent.url ?? null);
});

test('once such a send is known to have come to nothing, the post goes out as it is now', async (t) => {
  const network = fakeNetwork(minute);
  const world = await ledgerWorld(t, network);
  const post = await world.newPost(['Hello']);
  network.fates.push({ kind: 'vanished' });
  t.like(await post.attempt(), { kind: 'again' });

  await scheduleAnew(world, post.postId, 'Better');
  world.pass(2 * minute);
  t.like(await post.attempt(), { kind: 'done', status: 'published' });

  t.deepEqual(
    network.live.map(({ text }) => text),
    ['Better'],
  );
});

/** What a cancel, an edit and a new time leave behind. */
async function scheduleAnew({ deps }: LedgerWorld, postId: string, body: string): Promise<void> {
  await deps.orm.em
    .fork()
    .execute('update posts set run = run + 1, body = ? where id = ?', [body, postId]);
}
