import { readFileSync } from 'node:fs';
import type { WorkflowHandle } from '@temporalio/client';
import type { ExecutionContext } from 'ava';
import { NetworkError } from '../../networks/network.ts';
import type { Logger } from '../../runtime/logger.ts';
import { syncPost } from '../../temporal/sync-post.ts';
import { ensureSearchAttributes } from '../../temporal/search-attributes.ts';
import { searchAttributeKeys } from '../../workflows/search-attributes.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi, startWorkers, type Punctual } from '../support/punctual.ts';
import { startReceiver } from '../support/receiver.ts';
import { testLog } from '../support/temporal.ts';
import { visible } from '../support/visible.ts';

const test = needs('temporal');

test('a post that failed is found by its workspace, its networks and its error codes, with its deliveries', async (t) => {
  const { punctual, network, client, schedule } = await world(t, ({ temporal }) =>
    ensureSearchAttributes(temporal, testLog),
  );
  const { workspaceId } = client;
  network.fates.push({ kind: 'fails', error: refusal() });
  const [bad, good] = [await schedule(0), await schedule(60)];
  t.is((await client.finalPost(bad)).status, 'failed');

  const find = (query: string, count = 1) => visible(punctual.temporal, query, count);
  t.deepEqual(await find(`ErrorCodes = 'content_refused'`), [`post-${bad}`]);
  const posts = [`post-${bad}`, `post-${good}`].toSorted();
  t.deepEqual(await find(`WorkspaceId = '${workspaceId}' and Networks = 'fake'`, 2), posts);
  const [delivery] = await punctual.orm.em.execute<{ id: string }[]>('select id from deliveries');
  t.deepEqual(await find(`RootWorkflowId = 'post-${bad}' and WorkspaceId = '${workspaceId}'`, 2), [
    `delivery-${delivery?.id}`,
    `post-${bad}`,
  ]);
});

test('a post is retried without a word of the error that it had', async (t) => {
  const { punctual, network, client, schedule } = await world(t, ({ temporal }) =>
    ensureSearchAttributes(temporal, testLog),
  );
  network.fates.push({ kind: 'fails', error: refusal() });
  const post = await schedule(0);
  await client.finalPost(post);
  const handle = punctual.temporal.client.workflow.getHandle(`post-${post}`);
  t.is(await handle.result(), 'failed');

  await client.post(`/posts/${post}/retry`);

  await client.finalPost(post);
  t.is(await handle.result(), 'published');
  t.deepEqual(await ours(handle), ['WorkspaceId', 'Networks']);
});

test('on a Temporal that knows no search attributes posts fail and succeed all the same, and webhooks hear of it', async (t) => {
  const { punctual, network, receiver, client, schedule } = await world(t);
  network.fates.push({ kind: 'fails', error: refusal() });

  const [bad, good] = [await schedule(0), await schedule(0)];

  for (const post of [bad, good]) {
    await client.finalPost(post);
    const handle = punctual.temporal.client.workflow.getHandle(`post-${post}`);
    t.regex(String(await handle.result()), /^(?:published|failed)$/v);
    t.deepEqual(await ours(handle), []);
  }

  await receiver.nth(2);
  t.is(network.live.length, 1);
});

test('on a Temporal where another program uses the name of an attribute, posts go out without any', async (t) => {
  const { punctual, client, schedule } = await world(t, async ({ temporal }) => {
    const { connection, namespace } = temporal;
    const { operatorService } = connection;
    const searchAttributes = { WorkspaceId: 3 }; // A number, in Temporal's own numbering of types.
    await operatorService.addSearchAttributes({ namespace, searchAttributes });
    await poll(
      () => operatorService.listSearchAttributes({ namespace }),
      ({ customAttributes }) => customAttributes['WorkspaceId'] === 3,
    );
    t.false(await ensureSearchAttributes(temporal, testLog));
  });

  const post = await schedule(0);

  t.is((await client.finalPost(post)).status, 'published');
  const handle = punctual.temporal.client.workflow.getHandle(`post-${post}`);
  t.is(await handle.result(), 'published');
});

test('an operator is told once that Temporal does not know the attributes', async (t) => {
  const { orm, temporal } = await startApi(t, { networks: { fake: fakeNetwork() } });
  const said: string[] = [];
  const log = { warn: (_fields: object, message: string) => void said.push(message) };
  const tell = (postId: string) => {
    const dueAt = new Date(Date.now() + 3_600_000).toISOString();
    const workspaceId = crypto.randomUUID();
    const post = { workspaceId, postId, status: 'scheduled', revision: 1, dueAt };
    return syncPost(temporal.client, orm.em.fork(), post, log as unknown as Logger);
  };
  const posts = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
  await poll(
    () => tell(posts[0] ?? '').then(String, String), // A namespace that was made just now may not be there yet.
    (outcome) => outcome === 'undefined',
  );

  await Promise.all(posts.map(tell));

  for (const post of posts) {
    const handle = temporal.client.workflow.getHandle(`post-${post}`);
    t.is((await handle.describe()).status.name, 'RUNNING');
  }

  t.deepEqual(said, ['Temporal does not know our search attributes: workflows start without them']);
});

test('two workers that start at once both find the attributes there', async (t) => {
  const { temporal } = await startApi(t, { networks: { fake: fakeNetwork() } });
  const both = [
    ensureSearchAttributes(temporal, testLog),
    ensureSearchAttributes(temporal, testLog),
  ];
  t.deepEqual(await Promise.all(both), [true, true]);
  t.true(await ensureSearchAttributes(temporal, testLog));
});

for (const file of ['scripts/parts/temporal.ts', 'temporal-docker-compose.yml']) {
  test(`the Temporal of ${file} knows each attribute from its start`, (t) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    const found = [...text.matchAll(/\b(?<name>[A-Z][A-Za-z]+)=(?<type>Keyword(?:List)?)\b/gv)];
    const types = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList' };
    t.deepEqual(
      found.map(({ groups }) => [groups?.['name'], groups?.['type']]),
      searchAttributeKeys.map(({ name, type }) => [name, types[type]]),
    );
  });
}

const refusal = (): NetworkError => new NetworkError('content_refused', 'No.', { taken: 'no' });

/** @returns which of our attributes a workflow has; Temporal adds some of its own. */
async function ours(handle: WorkflowHandle): Promise<string[]> {
  const { typedSearchAttributes } = await handle.describe();
  return searchAttributeKeys.flatMap((key) =>
    typedSearchAttributes.get<'KEYWORD' | 'KEYWORD_LIST'>(key) === undefined ? [] : [key.name],
  );
}

/** A Punctual whose webhooks are received. @param prepare What is done to Temporal before the worker starts. */
async function world(t: ExecutionContext, prepare?: (punctual: Punctual) => Promise<unknown>) {
  const network = fakeNetwork();
  const receiver = await startReceiver(t);
  const punctual = await startApi(t, {
    networks: { fake: network },
    allowPorts: [receiver.port],
  });
  await prepare?.(punctual);
  await startWorkers(t, punctual);
  const client = await newClient(punctual);
  const events = ['post.published', 'post.failed'];
  await client.post('/webhooks', { url: receiver.url, events });
  const channel = await addFakeChannel(punctual.deps, client.workspaceId);
  const schedule = async (minutes: number): Promise<string> => {
    const { body } = await client.post('/posts', {
      body: 'Hello',
      channel_ids: [channel],
      schedule_in_minutes: minutes,
    });
    return body.post.id;
  };
  return { punctual, network, receiver, client, schedule };
}
