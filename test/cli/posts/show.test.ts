import test, { type ExecutionContext } from 'ava';
import { newId } from '../../../db/new-id.ts';
import { NetworkError } from '../../../networks/network.ts';
import { newClient } from '../../support/client.ts';
import { addFakeChannel } from '../../support/seed.ts';
import { fakeNetwork } from '../../support/networks.ts';
import { startApi } from '../../support/punctual.ts';
import { startReceiver } from '../../support/receiver.ts';
import { adminOf, areRefused, uiUrl } from './admin.ts';
import { publish } from './publish.ts';

type Step = { readonly at: string; readonly what: string };

/** A thread that stopped at its second part, of which a webhook heard. */
async function stoppedThread(t: ExecutionContext) {
  const network = fakeNetwork();
  const refusal = new NetworkError('content_refused', 'No \x1b[2Jsuch words.', { taken: 'no' });
  network.fates.push({ kind: 'taken' }, { kind: 'fails', error: refusal });
  const receiver = await startReceiver(t);
  const networks = { fake: network };
  const punctual = await startApi(t, { networks, allowPorts: [receiver.port] });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId, 'fake');
  const hook = { url: `${receiver.url}?token=of-theirs`, events: ['post.failed'] };
  const { webhook } = (await client.post('/webhooks', hook)).body;
  const thread = [`\u202eOne ${'x'.repeat(100)}`, 'Two, which is not shown', 'Three'];
  const content = { thread, channel_ids: [channel], schedule_in_minutes: 0 };
  const id = String((await client.post('/posts', content)).body.post.id);
  await publish(punctual, client.workspaceId, id);
  return { punctual, client, channel, webhook, id, network };
}

test('a post is shown with all that happened to it, in order of time, and with the way to its workflow', async (t) => {
  const { punctual, client, channel, webhook, id, network } = await stoppedThread(t);
  const em = punctual.orm.em.fork();
  await em.execute('update posts set synced_revision = revision');
  await em.execute(
    `insert into sweep_finds (id, workspace_id, post_id, kind, found_at) values (?, ?, ?, 'overdue', now())`,
    [newId(), client.workspaceId, id],
  );

  const { text, data } = await adminOf(punctual).post('show', `post-${id}`);

  const { namespace } = punctual.temporal;
  const link = `${uiUrl}/namespaces/${namespace}/workflows/post-${id}`;
  t.deepEqual(data.workflow, { id: `post-${id}`, link });
  const steps: Step[] = data.story;
  t.deepEqual(
    steps.map(({ at }) => at),
    steps.map(({ at }) => at).toSorted(),
  );
  const told = [
    'it was due',
    'the post was made',
    'fake @me, part 1, run 1: the intent to send it was written down',
    'fake @me, part 1, run 1: the network was asked to publish it',
    `fake @me, part 1, run 1: it is live: ${network.live[0]?.sent.url}`,
    'fake @me, part 2, run 1: nothing came of it, and it is not sent again by itself',
    `event post.failed of run 1 (${data.events[0].id})`,
    `webhook ${webhook.id}, delivery ${data.deliveries[0].id}, attempt 1: 204`,
    'the sweep found: the post was overdue though its workflow ran; it was told again',
  ];
  t.deepEqual(
    steps.map(({ what }) => what).filter((what) => told.includes(what)),
    told,
  );
  for (const { at, what } of steps) {
    t.true(text.includes(`${at}  ${what}`), what);
  }

  t.regex(text, new RegExp(`^Post ${id}: failed, run 1$`, 'mv'));
  t.regex(text, /^Text: One x{76}… \(the first of 3 parts\)$/mv);
  t.regex(text, /^Temporal knows of revision 1, the newest\.$/mv);
  t.regex(text, new RegExp(`^Channel ${channel}, fake .*: failed$`, 'mv'));
  t.regex(text, /^ {2}content_refused: Part 2 of 3 did not go out: No {1,2}\[2Jsuch words\./mv);
});

test('what is shown holds no secret, no more of a text than its beginning, and nothing that moves the cursor', async (t) => {
  const { punctual, client, webhook, id } = await stoppedThread(t);
  const { text, data } = await adminOf(punctual).post('show', id);
  const json = JSON.stringify(data);
  for (const secret of [
    webhook.secret,
    'of-theirs',
    client.key,
    'which is not shown',
    '"secret"',
  ]) {
    t.false(text.includes(secret), secret);
    t.false(json.includes(secret), secret);
  }

  t.notRegex(text.replaceAll('\n', ''), /[\p{Cc}\p{Bidi_Control}]/v);
});

test('a post of which Temporal has yet to hear is shown as such', async (t) => {
  const punctual = await startApi(t, {
    temporalEnv: { TEMPORAL_ADDRESS: '127.0.0.1:9', TEMPORAL_NAMESPACE: 'away' },
  });
  const client = await newClient(punctual);
  const channel = await addFakeChannel(punctual.deps, client.workspaceId, 'mastodon');
  const content = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 60 };
  const { id } = (await client.post('/posts', content)).body.post;
  const { text } = await adminOf(punctual).post('show', id);
  t.regex(text, /^Temporal has yet to hear of revision 1; it knows of 0\./mv);
});

test('as a process it says the same; and a post that is not there is named', async (t) => {
  const punctual = await startApi(t);
  const client = await newClient(punctual);
  const { id } = (await client.post('/posts', { body: 'Hello' })).body.post;
  const admin = adminOf(punctual);
  const { code, stdout, stderr } = await admin.run('post', 'show', id);
  t.deepEqual([code, stderr], [0, '']);
  t.is(stdout, `${(await admin.post('show', id)).text}\n`);
  for (const wrong of [crypto.randomUUID(), 'x', `post-`, `' or 1=1 --`]) {
    const reason = /There is no post "/v;
    await areRefused(t, admin, [
      [['show', wrong], 'AppError', reason],
      [['retry', wrong], 'AppError', reason],
      [['settle', wrong, crypto.randomUUID(), '--not-published'], 'AppError', reason],
    ]);
  }
});
