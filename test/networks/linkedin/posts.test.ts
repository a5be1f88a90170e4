import test, { type ExecutionContext } from 'ava';
import { createLinkedinNetwork } from '../../../networks/linkedin/adapter.ts';
import { NetworkError, type PreparedPart, type PublishStep } from '../../../networks/network.ts';
import { lossyProxy, type Answer } from '../../support/lossy-proxy.ts';
import { openConnection } from '../connection.ts';
import { pictureFile } from '../files.ts';
import { nextStep, partsOf, partsWith, publish, sendStep } from '../publish.ts';
import { passesAsNetwork } from '../suite.ts';
import {
  bench,
  articleOf,
  connected,
  linkedin,
  listed,
  requests,
  selfServe,
  version,
} from './bench.ts';

passesAsNetwork(test, bench);

/** The text of a post in a browser. */
async function shownOn(t: ExecutionContext, text: string): Promise<string> {
  const { account, connection } = await connected(t);
  const { sent } = await publish(linkedin, connection, partsOf(text));
  const article = await articleOf(account, sent[0]?.remoteId ?? '');
  const [, markup = ''] = /<p class="text">(.*?)<\/p>/s.exec(article) ?? [];
  return markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

test('LinkedIn’s reserved characters appear as written, and no text is cut off', async (t) => {
  const text =
    'Hi (all) [of] {you} <b> a_b *c* ~d~ e|f \\g @ana #1\nhttps://a.example/x_(y)#z and the end.';
  t.is(await shownOn(t, text), text);
});

test('3000 characters are published completely, however many are escaped', async (t) => {
  for (const text of ['('.repeat(3000), '👍'.repeat(1500), '日'.repeat(3000)]) {
    t.is(await shownOn(t, text), text);
  }
});

test('hashtags are live', async (t) => {
  const { account, connection } = await connected(t);
  const { sent } = await publish(linkedin, connection, partsOf('Big #News_x and #día'));
  const article = await articleOf(account, sent[0]?.remoteId ?? '');
  t.regex(article, /<a href="\/linkedin\/feed\/hashtag\/news"[^>]*>#News<\/a>_x/);
  t.regex(article, />#día<\/a>/);
});

test('the URLs of LinkedIn’s own posts are on its own pages', async (t) => {
  const { account, connection } = await connected(t);
  const settings = { isOrganization: false, webUrl: 'https://www.linkedin.com' };
  const { sent } = await publish(
    linkedin,
    openConnection(t, account, { ...connection, settings }),
    partsOf('Hi', 'A comment'),
  );
  const [post, comment] = sent;
  t.is(post?.url, `https://www.linkedin.com/feed/update/${post?.remoteId}/`);
  t.regex(
    comment?.url ?? '',
    /^https:\/\/www\.linkedin\.com\/feed\/update\/urn:li:share:\d+\/\?commentUrn=urn%3Ali%3Acomment%3A\(activity%3A\d+%2C\d+\)$/,
  );
});

test('one image is the media of its post, several are a multi-image, each with its alt text', async (t) => {
  const { account, connection } = await connected(t);
  const described = { ...(await pictureFile()), altText: 'A fox' };
  await publish(linkedin, connection, partsWith([described], 'One'));
  await publish(linkedin, connection, partsWith([described, await pictureFile()], 'Two'));

  const [one, two] = await listed(account);
  t.like(one?.content, { media: { altText: 'A fox' } });
  t.deepEqual(
    two?.content?.multiImage?.images.map(({ altText }) => altText),
    ['A fox', undefined],
  );
});

// The outcome of a lost answer if LinkedIn shows no posts.

async function lostWith(t: ExecutionContext, token: string, text = 'Hello') {
  const world = await connected(t, { token });
  const proxy = await lossyProxy(t, world.account.baseUrl);
  const connection = openConnection(t, world.account, { baseUrl: proxy.url });
  const prepared = await linkedin.prepare(connection, partsOf(text), Date.now());
  const step = nextStep(linkedin, prepared, []);
  proxy.plan(requests.posts, { kind: 'lost' });
  t.like(await t.throwsAsync(sendStep(linkedin, connection, step)), { accepted: 'unknown' });
  return { ...world, proxy, connection, step };
}

/** The step when the ledger sends it again. */
async function again(
  t: ExecutionContext,
  lost: Awaited<ReturnType<typeof lostWith>>,
): Promise<PublishStep> {
  const finding = await linkedin.reconcile(lost.connection, lost.step);
  t.like(finding, { kind: 'absent', isHidden: true });
  const [data] = finding.kind === 'absent' ? (finding.data ?? []) : [];
  const [part] = lost.step.parts;
  return { ...lost.step, parts: [{ ...(part as PreparedPart), data: data ?? null }] };
}

test('for an app that may not read posts, sending again settles a lost answer', async (t) => {
  const lost = await lostWith(t, selfServe);
  const step = await again(t, lost);
  const error = await t.throwsAsync(sendStep(linkedin, lost.connection, step), {
    instanceOf: NetworkError,
  });
  const [live, ...more] = await listed(lost.account);

  t.is(more.length, 0);
  t.like(error, { code: 'duplicate', accepted: 'no' });
  t.deepEqual(error.existing, [
    { remoteId: live?.id ?? '', url: `${lost.account.baseUrl}/feed/update/${live?.id}/` },
  ]);
});

test('without a doubted part, a duplicate is an error', async (t) => {
  const { connection } = await connected(t);
  await publish(linkedin, connection, partsOf('The same'));
  const error = await t.throwsAsync(publish(linkedin, connection, partsOf('The same')), {
    instanceOf: NetworkError,
  });
  t.like(error, { code: 'duplicate', accepted: 'no', existing: undefined });
  t.regex(error.message, /has this post already.*duplicate of urn:li:share:\d+/);
});

test('while LinkedIn gives no clear answer about a doubted post, it stays doubted', async (t) => {
  const lost = await lostWith(t, selfServe);
  const step = await again(t, lost);
  for (const status of [401, 403, 429, 426, 503]) {
    lost.proxy.plan(requests.posts, { kind: 'refused', answer: { status, body: '{}' } });
    t.like(await t.throwsAsync(sendStep(linkedin, lost.connection, step)), { accepted: 'unknown' });
  }
});

test('a lost post with only an image stays unconfirmed if the app cannot read posts', async (t) => {
  const { account } = await connected(t, { token: selfServe });
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const prepared = await linkedin.prepare(
    connection,
    partsWith([await pictureFile()], ''),
    Date.now(),
  );
  const step = nextStep(linkedin, prepared, []);
  proxy.plan(requests.posts, { kind: 'lost' });
  await t.throwsAsync(sendStep(linkedin, connection, step));
  t.like(await t.throwsAsync(linkedin.reconcile(connection, step)), {
    code: 'unconfirmed',
    accepted: 'unknown',
  });
});

// LinkedIn's refusals.

async function failureAfter(t: ExecutionContext, answer: Answer): Promise<NetworkError> {
  const { account } = await connected(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  proxy.plan(requests.posts, { kind: 'refused', answer });
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  return t.throwsAsync(publish(linkedin, connection, partsOf('Hi')), {
    instanceOf: NetworkError,
  }) as Promise<NetworkError>;
}

test('a rate limit ends at midnight UTC, and covers all channels if it is the app’s', async (t) => {
  const day = 24 * 60 * 60 * 1000;
  for (const [who, limit] of [
    ['MEMBER', 'channel'],
    ['APPLICATION', 'network'],
  ] as const) {
    const message = `Resource level throttle ${who} DAY limit for calls to this resource is reached.`;
    const error = await failureAfter(t, { status: 429, body: JSON.stringify({ message }) });
    t.like(error, { code: 'rate_limited', accepted: 'no', limit });
    const atMs = error.retryAtMs ?? 0;
    t.is(atMs % day, 0);
    t.true(atMs > Date.now() && atMs <= Date.now() + day);
  }
});

test('a revoked token loses access', async (t) => {
  const { connection, control } = await connected(t);
  await control('revoked');
  t.like(await t.throwsAsync(publish(linkedin, connection, partsOf('Hi'))), {
    code: 'access_lost',
    accepted: 'no',
  });
});

test('a refused post fails with LinkedIn’s message', async (t) => {
  const { connection } = await connected(t);
  const error = await t.throwsAsync(publish(linkedin, connection, partsOf('No #sandbox-refuse')));
  t.like(error, { code: 'content_refused', accepted: 'no' });
  t.regex(error?.message ?? '', /"The text has #sandbox-refuse in it"/);
});

test('an expired API version is an error for the operator, with the setting to change', async (t) => {
  const { connection } = await connected(t);
  const old = createLinkedinNetwork('202401');
  const error = await t.throwsAsync(publish(old, connection, partsOf('Hi')));
  t.like(error, { code: 'internal', accepted: 'no' });
  t.regex(error?.message ?? '', /version 202401 .*PUNCTUAL_LINKEDIN_VERSION/);
  t.notThrows(() => createLinkedinNetwork(version));
});
