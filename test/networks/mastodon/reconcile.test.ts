import type { ExecutionContext } from 'ava';
import { connectMastodon } from '../../../networks/mastodon/connect.ts';
import { mastodon } from '../../../networks/mastodon/index.ts';
import type { Finding } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { mastodonAccount } from '../../support/accounts.ts';
import { needs } from '../../support/needs.ts';
import { egressTo, openConnection } from '../connection.ts';
import { nextStep, partsOf, publish, sendStep } from '../publish.ts';
import { removeStatus } from './remove-status.ts';

const test = needs('gotosocial');

async function connected(t: ExecutionContext) {
  const { baseUrl, accessToken, client } = await mastodonAccount();
  const account = await connectMastodon(egressTo(t, baseUrl), { baseUrl, accessToken });
  return { account, client, connection: openConnection(t, account) };
}

const idsOf = (finding: Finding): (string | undefined)[] =>
  finding.kind === 'found' ? finding.candidates.map(([part]) => part?.remoteId) : [];

test('of two equal posts both are candidates, the older one first', async (t) => {
  const { connection, client } = await connected(t);
  await client.v1.statuses.create({ status: 'twice the same', visibility: 'public' });
  const frozen = await mastodon.freeze(connection, partsOf('twice the same'), Date.now());
  const step = nextStep(mastodon, frozen, []);
  const [first] = await sendStep(mastodon, connection, step);
  const [second] = await sendStep(mastodon, connection, step);

  const finding = await mastodon.reconcile(connection, step);
  t.deepEqual(idsOf(finding), [first?.remoteId, second?.remoteId]);
  t.like(finding, { candidates: [[first], [second]] });
});

test('a part is looked for only under the part before it', async (t) => {
  const { connection } = await connected(t);
  const { frozen, sent } = await publish(mastodon, connection, partsOf('Same', 'Same', 'Same'));

  for (const index of [0, 1, 2]) {
    const step = nextStep(mastodon, frozen, sent.slice(0, index));
    t.deepEqual(idsOf(await mastodon.reconcile(connection, step)), [sent[index]?.remoteId]);
  }
});

test('a post is found although the one before it was deleted since', async (t) => {
  const { connection, client } = await connected(t);
  const before = await client.v1.statuses.create({ status: 'before', visibility: 'public' });
  const frozen = await mastodon.freeze(connection, partsOf('after'), Date.now());
  const [sent] = await sendStep(mastodon, connection, nextStep(mastodon, frozen, []));
  await removeStatus(client, before.id);

  const finding = await mastodon.reconcile(connection, nextStep(mastodon, frozen, []));
  t.deepEqual(idsOf(finding), [sent?.remoteId]);
});

test('a post is found among more than a page of newer ones', async (t) => {
  const { connection, client } = await connected(t);
  await client.v1.statuses.create({ status: 'before', visibility: 'public' });
  const frozen = await mastodon.freeze(connection, partsOf('needle'), Date.now());
  const [sent] = await sendStep(mastodon, connection, nextStep(mastodon, frozen, []));
  for (let count = 0; count < 41; count += 1) {
    await client.v1.statuses.create({ status: `hay ${count}`, visibility: 'public' });
  }

  const finding = await mastodon.reconcile(connection, nextStep(mastodon, frozen, []));
  t.deepEqual(idsOf(finding), [sent?.remoteId]);
});

test('a server without sources is believed by what its pages say', async (t) => {
  const { account, connection } = await connected(t);
  const text =
    'Look: https://example.com/a_b?c=1&d=2 "quoted" <b> #tag 👋\n\nby @nobody@example.com';
  const { frozen, sent } = await publish(mastodon, connection, partsOf(text));
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan({ method: 'GET', path: /\/source$/ }, { kind: 'refused', answer: { status: 404 } });

  const viaProxy = openConnection(t, account, { baseUrl: proxy.url });
  const finding = await mastodon.reconcile(viaProxy, nextStep(mastodon, frozen, []));
  t.deepEqual(idsOf(finding), [sent[0]?.remoteId]);
});

test('a look that fails leaves the outcome open', async (t) => {
  const { account, connection } = await connected(t);
  const { frozen } = await publish(mastodon, connection, partsOf('Hi'));
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan({ method: 'GET', path: /\/statuses\?/ }, { kind: 'refused', answer: { status: 503 } });

  const viaProxy = openConnection(t, account, { baseUrl: proxy.url });
  const attempt = mastodon.reconcile(viaProxy, nextStep(mastodon, frozen, []));
  await t.throwsAsync(attempt, { name: 'NetworkError', code: 'network_unavailable' });
  t.like(await attempt.catch((error: unknown) => error), { taken: 'unknown' });
});
