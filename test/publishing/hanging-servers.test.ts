import { sharedApi } from '../support/kit.ts';
import { needs } from '../support/needs.ts';
import { accountOn, fakeNetwork } from '../support/networks.ts';
import { poll } from '../support/poll.ts';
import { startWorkers } from '../support/punctual.ts';
import { addFakeChannel } from '../support/seed.ts';

const test = needs('temporal');
const api = sharedApi(test);

test('while a server hangs with sixty posts, posts to another server of the network go out', async (t) => {
  const slow = fakeNetwork();
  const { prepare } = slow;
  const answer = Promise.withResolvers<void>();
  let underWay = 0;
  let most = 0;
  slow.prepare = async (...args) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await answer.promise;
    underWay -= 1;
    return prepare(...args);
  };
  const { punctual } = api;
  await startWorkers(t, punctual);
  t.teardown(() => answer.resolve()); // Before the worker stops, which waits for running attempts.
  const [crowd, other] = [await api.newClient('Crowd'), await api.newClient('Other')];
  const account = { baseUrl: 'https://slow.example', remoteId: accountOn(slow) };
  const toSlow = await addFakeChannel(punctual.deps, crowd.workspaceId, 'fake', account);
  const toWell = await addFakeChannel(punctual.deps, other.workspaceId, 'fake', {
    baseUrl: 'https://well.example',
    remoteId: accountOn(fakeNetwork()),
  });
  const post = async (client: typeof crowd, channel: string, inMs: number): Promise<string> => {
    const scheduled_at = new Date(Date.now() + inMs).toISOString();
    const request = { body: 'Hello', channel_ids: [channel], scheduled_at };
    return (await client.post('/posts', request)).body.post.id;
  };
  await Promise.all(Array.from({ length: 60 }, () => post(crowd, toSlow, 5000)));
  const tried = `select count(*)::int as count from post_channels
    where channel_id = ? and status = 'retrying'`;
  await poll(
    () => punctual.orm.em.fork().execute<{ count: number }[]>(tried, [toSlow]),
    // Those that wait for a slot, and those at the server, which have no intent yet.
    ([row]) => (row?.count ?? 0) + underWay >= 60,
  );

  const { status } = await other.finalPost(await post(other, toWell, 500));
  t.is(status, 'published');
  t.true(underWay >= 15, `${underWay}`);
  t.true(most <= 20, `${most}`);
});
