import test, { type ExecutionContext } from 'ava';
import { type PreparedPart, type SentPart, NetworkError } from '../../../networks/network.ts';
import { lossyProxy } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { partsOf, publish, sendStep } from '../publish.ts';
import { connected, linkedin, requests, selfServe, bench } from './bench.ts';

/** A live post, and a comment that is ready to be sent. */
async function commenting(t: ExecutionContext, { token = 'demo', text = 'First!' } = {}) {
  const world = await connected(t, { token });
  const proxy = await lossyProxy(t, world.account.baseUrl);
  const connection = openConnection(t, world.account, { baseUrl: proxy.url });
  const parts = partsOf('The post', text);
  const { sent } = await publish(linkedin, connection, parts.slice(0, 1));
  const [part] = await linkedin.prepare(connection, parts.slice(1), Date.now());
  const step = { parts: [part as PreparedPart], sent: sent as SentPart[] };
  return { ...world, proxy, connection, step };
}

test('a comment that the app may not write gets an error with the missing permission, and the post stays', async (t) => {
  const { connection, step, posts } = await commenting(t, { token: selfServe });
  const error = await t.throwsAsync(sendStep(linkedin, connection, step));
  t.like(error, { code: 'permission_missing', accepted: 'no' });
  t.regex(error?.message ?? '', /without the Community Management API.*w_member_social_feed/);
  t.is((await posts()).length, 1);
});

test('if the versioned API refuses a comment as partners only, the older API accepts it', async (t) => {
  const { proxy, connection, step, posts } = await commenting(t);
  const body = JSON.stringify({
    status: 403,
    code: 'ACCESS_DENIED',
    message: 'Not enough permissions to access: partnerApiSocialActions.CREATE.20260901',
  });
  proxy.plan(requests.comments, { kind: 'refused', answer: { status: 403, body } });
  const [sent] = await sendStep(linkedin, connection, step);

  const [, comment] = await posts();
  t.like(comment, { remoteId: sent?.remoteId, text: 'First!' });
  t.regex(proxy.seen.at(-1)?.path ?? '', /^\/v2\/socialActions\//);
  t.is(proxy.seen.at(-1)?.headers['linkedin-version'], undefined);
});

test('a comment whose answer was lost is found, and another member’s is not mistaken for it', async (t) => {
  const { account, proxy, connection, step, posts } = await commenting(t);
  t.like(await linkedin.reconcile(connection, step), { kind: 'absent' });
  proxy.plan(requests.comments, { kind: 'lost' });
  t.like(await t.throwsAsync(sendStep(linkedin, connection, step)), { accepted: 'unknown' });

  const finding = await linkedin.reconcile(connection, step);
  const [, comment] = await posts();
  t.like(finding, { kind: 'found', candidates: [[{ remoteId: comment?.remoteId }]] });
  const other = { ...account, remoteId: 'urn:li:person:other' };
  const asOther = openConnection(t, other, { baseUrl: proxy.url });
  t.like(await linkedin.reconcile(asOther, step), { kind: 'absent' });
});

test('a lost comment stays unconfirmed if the app cannot read comments', async (t) => {
  const { proxy, connection, step } = await commenting(t);
  proxy.plan(requests.comments, { kind: 'lost' });
  await t.throwsAsync(sendStep(linkedin, connection, step));
  const reading = { method: 'GET', path: /\/comments\?/ };
  proxy.plan(reading, { kind: 'refused', answer: { status: 403, body: '{}' } });
  proxy.plan(reading, { kind: 'refused', answer: { status: 403, body: '{}' } });
  t.like(await t.throwsAsync(linkedin.reconcile(connection, step)), {
    code: 'unconfirmed',
    accepted: 'unknown',
  });
});

test('a comment on a deleted post is refused', async (t) => {
  const { connection, step } = await commenting(t);
  const gone = { ...step, sent: [{ remoteId: 'urn:li:share:1', url: 'https://a.example' }] };
  t.like(await t.throwsAsync(sendStep(linkedin, connection, gone)), {
    code: 'content_refused',
    accepted: 'no',
  });
});

test('a refused comment fails with LinkedIn’s message', async (t) => {
  const { connection, step } = await commenting(t, { text: 'No #sandbox-refuse' });
  const error = await t.throwsAsync(sendStep(linkedin, connection, step));
  t.like(error, { code: 'content_refused', accepted: 'no' });
  t.regex(error?.message ?? '', /"The text has #sandbox-refuse in it"/);
});

const reader = readerOf(linkedin);
const organization = 'urn:li:organization:1000';
const metric = (type: string) => ({ method: 'GET', path: new RegExp(`queryType=${type}&`, 'v') });
const denied = {
  status: 403,
  body: JSON.stringify({ status: 403, code: 'ACCESS_DENIED', message: 'Not enough permissions' }),
};

readsMetrics(test, {
  ...bench,
  connect: connected,
  reads: metric('IMPRESSION'),
  expectedMetrics: { impressions: 900, likes: 20, comments: 3, shares: 9, saves: 6 },
  tellsFollowers: true,
});

/** A post of a member or an organisation, through a proxy that can fail. */
async function onePost(
  t: Parameters<typeof connected>[0],
  as: { token?: string; organization?: string } = {},
) {
  const { url, account } = await connected(t, as);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const [sent] = (await publish(linkedin, connection, partsOf('Hi'))).sent;
  const id = sent?.remoteId ?? '';
  const figures = { impressions: 9, likes: 8, comments: 7, reposts: 6, quotes: 0, saves: 5 };
  await setFigures(url, { platform: 'linkedin', id, figures });
  return { url, proxy, connection, id };
}

test('a metric that the app may not read is absent, and the others are read', async (t) => {
  const { proxy, connection, id } = await onePost(t);
  proxy.plan(metric('IMPRESSION'), { kind: 'refused', answer: denied });
  proxy.plan(metric('POST_SAVE'), { kind: 'refused', answer: denied });
  t.deepEqual((await reader.read(connection, [id])).get(id), {
    kind: 'read',
    metrics: { likes: 8, comments: 7, shares: 6 },
  });
});

test('a self-serve app may read no metrics, and the error names the missing permission', async (t) => {
  const { connection, id } = await onePost(t, { token: selfServe });
  const error = await t.throwsAsync(reader.read(connection, [id]), { instanceOf: NetworkError });
  t.like(error, { code: 'permission_missing', accepted: 'no' });
  t.regex(error.message, /r_member_postAnalytics/v);
  t.is(await reader.followers?.(connection), null);
});

test('a post whose reading fails half way keeps its last metrics, and earlier posts are read', async (t) => {
  const { proxy, connection, id } = await onePost(t);
  const [second] = (await publish(linkedin, connection, partsOf('Second'))).sent;
  const both = [id, second?.remoteId ?? ''];
  proxy.plan(metric('COMMENT'), { kind: 'none' });
  proxy.plan(metric('COMMENT'), { kind: 'refused', answer: { status: 500, body: '{}' } });
  t.deepEqual([...(await reader.read(connection, both)).keys()], [id]);
});

test('hidden metrics are absent; a post without any metric is not gone while it exists', async (t) => {
  const { url, connection, id } = await onePost(t);
  await setFigures(url, { platform: 'linkedin', id, figures: { likes: null, saves: null } });
  t.deepEqual((await reader.read(connection, [id])).get(id), {
    kind: 'read',
    metrics: { impressions: 9, comments: 7, shares: 6 },
  });
  const none = { impressions: null, comments: null, reposts: null };
  await setFigures(url, { platform: 'linkedin', id, figures: none });
  t.is((await reader.read(connection, [id])).size, 0);
});

test('posts of an organisation are read with one request, without saves', async (t) => {
  const { url, proxy, connection, id } = await onePost(t, { organization });
  const [second] = (await publish(linkedin, connection, partsOf('Second'))).sent;
  const gone = second?.remoteId ?? '';
  await setFigures(url, { platform: 'linkedin', id: gone, gone: true });
  await setFigures(url, { platform: 'linkedin', followers: 77 });

  const before = proxy.seen.length;
  const readings = await reader.read(connection, [id, gone]);
  t.deepEqual(Object.fromEntries(readings), {
    [id]: { kind: 'read', metrics: { impressions: 9, likes: 8, comments: 7, shares: 6 } },
    [gone]: { kind: 'gone' },
  });
  t.is(proxy.seen.length - before, 2, 'one for both, and one for the missing post');
  t.is(await reader.followers?.(connection), 77);
});

test('an error says that the app may not read a page’s statistics', async (t) => {
  const { proxy, connection, id } = await onePost(t, { organization });
  const path = /organizationalEntityShareStatistics/v;
  proxy.plan({ method: 'GET', path }, { kind: 'refused', answer: denied });
  const error = await t.throwsAsync(reader.read(connection, [id]), { instanceOf: NetworkError });
  t.like(error, { code: 'permission_missing' });
  t.regex(error.message, /rw_organization_admin/v);
});
