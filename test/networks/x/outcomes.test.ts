import test, { type ExecutionContext } from 'ava';
import { connectX } from '../../../networks/x/connect.ts';
import { NetworkError, type SentPart } from '../../../networks/network.ts';
import type { Answer } from '../../support/lossy-proxy.ts';
import { egressTo, openConnection } from '../connection.ts';
import { family } from '../content.ts';
import { pictureFile } from '../files.ts';
import { nextStep, partsOf, partsWith, publish, sendStep, throughDatabase } from '../publish.ts';
import { bench, connected, x } from './bench.ts';
import { onBrokenLine, order } from './broken-line.ts';

// Connecting.

test('a token connects its account', async (t) => {
  const { sandbox, account } = await connected(t);
  t.deepEqual(account, {
    baseUrl: `${sandbox.url}/x`,
    remoteId: '2000000000000000001',
    handle: '@demo',
    displayName: 'Demo',
    credentials: { accessToken: 'demo' },
    session: null,
    settings: { webUrl: `${sandbox.url}/x` },
  });
  const own = await connectX(egressTo(t, sandbox.url), {
    baseUrl: `${sandbox.url}/x/`,
    accessToken: ' demo\n',
  });
  t.like(own, { credentials: { accessToken: 'demo' }, settings: {} });
});

test('an invalid token does not connect, nor one whose app may not post', async (t) => {
  const { proxy, account } = await onBrokenLine(t);
  const connect = (accessToken: string) =>
    connectX(egressTo(t, proxy.url), { baseUrl: proxy.url, accessToken });
  for (const accessToken of ['wrong', 'not a token', '']) {
    t.like(await t.throwsAsync(connect(accessToken)), { code: 'access_lost' });
  }
  const body = JSON.stringify({ title: 'Client Forbidden', reason: 'client-not-enrolled' });
  proxy.plan(
    { method: 'GET', path: /\/users\/me$/ },
    { kind: 'refused', answer: { status: 403, body } },
  );
  t.like(await t.throwsAsync(connect('demo')), { code: 'permission_missing', accepted: 'no' });
  t.is(account.settings === null, false);
});

test('a post has its URL at x.com unless the account is on another server', async (t) => {
  const { account } = await connected(t);
  const plain = openConnection(t, account, { settings: {} });
  const { sent } = await publish(x, plain, partsOf('Hi'));
  t.is(sent[0]?.url, `https://x.com/i/web/status/${sent[0]?.remoteId}`);
});

// Limits.

const link = `https://example.com/${'y'.repeat(100)}`;
const filled = (mark: string, weight: number) => mark + 'x'.repeat(280 - weight);
for (const [what, text] of [
  ['emoji', filled(family.repeat(20), 40)],
  ['Japanese', filled('日本語'.repeat(20), 120)],
  ['links', filled(`${link} example.com/a `, 48)],
] as const) {
  test(`a text of ${what} at the limit is accepted and found again, and the rules and X refuse one more`, async (t) => {
    const { proxy, connection, posts } = await onBrokenLine(t);
    const errorsOf = (body: string) =>
      x.rules.validate({ texts: [body], media: [], video: null, options: {} }, {}).errors;
    t.deepEqual(errorsOf(text), []);
    t.is(errorsOf(`${text}x`).length, 1);

    const prepared = throughDatabase(await x.prepare(connection, partsOf(text), Date.now()));
    const step = nextStep(x, prepared, []);
    proxy.plan(bench.creates, { kind: 'lost' });
    await t.throwsAsync(sendStep(x, connection, step), { instanceOf: NetworkError });
    const [live] = await posts();
    t.like(await x.reconcile(connection, step), {
      kind: 'found',
      candidates: [[{ remoteId: live?.post.id }]],
    });

    const over = await t.throwsAsync(publish(x, connection, partsOf(`${text}x`)));
    t.like(over, { code: 'content_refused', accepted: 'no' });
  });
}

// Threads.

test('a thread that X refuses at its second part keeps its first, and the error says so', async (t) => {
  const { connection, posts } = await onBrokenLine(t);
  const attempt = publish(x, connection, partsOf('One', 'Two #sandbox-refuse', 'Three'));
  const error = await t.throwsAsync(attempt, { instanceOf: NetworkError });
  t.like(error, { code: 'content_refused', accepted: 'no' });
  t.regex(
    error.message,
    /^X does not allow this post to continue the previous one, .*403.*sandbox/v,
  );
  t.is((await posts()).map(({ post }) => post.text).join(), 'One');
});

test('a reply is searched for only in its thread, and a first part only among first parts', async (t) => {
  const { connection } = await onBrokenLine(t);
  const equal = async () => partsWith([await pictureFile()], 'Equal');
  const [begins, continues] = [partsOf('One'), await equal()];
  const first = await publish(x, connection, begins);
  const next = await x.prepare(connection, continues, Date.now());
  const sent = await sendStep(x, connection, { parts: next, sent: first.sent });
  const alone = await publish(x, connection, await equal());

  t.like(await x.reconcile(connection, { parts: next, sent: first.sent }), {
    candidates: [sent],
  });
  t.like(await x.reconcile(connection, { parts: alone.prepared, sent: [] }), {
    candidates: [alone.sent],
  });
});

// Refusals and their causes.

/** The error of a post after this answer of X. */
async function failureAfter(
  t: ExecutionContext,
  answer: Answer,
  sent: readonly SentPart[] = [],
): Promise<NetworkError> {
  const { proxy, connection } = await onBrokenLine(t);
  const texts = ['Hi', 'there'].slice(0, sent.length + 1);
  const prepared = await x.prepare(connection, partsOf(...texts), Date.now());
  proxy.plan(bench.creates, { kind: 'refused', answer });
  const attempt = sendStep(x, connection, nextStep(x, prepared, sent));
  return t.throwsAsync(attempt, { instanceOf: NetworkError });
}

const problem = (fields: object): string => JSON.stringify({ title: 'Problem', ...fields });
const kind = (name: string) => problem({ type: `https://api.x.com/2/problems/${name}` });
const cases: readonly (readonly [status: number, body: string, code: string, accepted: string])[] =
  [
    [400, problem({ detail: 'One or more parameters' }), 'content_refused', 'no'],
    [401, problem({ detail: 'Unauthorized' }), 'access_lost', 'no'],
    [403, kind('unsupported-authentication'), 'access_lost', 'no'],
    [402, kind('credits-depleted'), 'rate_limited', 'no'],
    [403, kind('client-forbidden'), 'permission_missing', 'no'],
    [403, problem({ reason: 'client-not-enrolled' }), 'permission_missing', 'no'],
    [403, kind('oauth2-insufficient-scope'), 'permission_missing', 'no'],
    [
      403,
      problem({ detail: 'You are not permitted to perform this action.' }),
      'permission_missing',
      'no',
    ],
    [403, problem({ detail: 'Your account is suspended' }), 'permission_missing', 'no'],
    [403, problem({ detail: 'Your account is temporarily locked.' }), 'permission_missing', 'no'],
    [403, problem({ detail: 'You have been blocked from replying.' }), 'content_refused', 'no'],
    [403, problem({ detail: 'Your Tweet text is too long.' }), 'content_refused', 'no'],
    [403, problem({ detail: 'Over the limit of characters.' }), 'content_refused', 'no'],
    [403, problem({ detail: 'User is over daily status update limit.' }), 'rate_limited', 'no'],
    [
      403,
      problem({ detail: 'You have reached your daily limit for posts.' }),
      'rate_limited',
      'no',
    ],
    [403, problem({ title: 'SpendCapReached', reason: 'other' }), 'rate_limited', 'no'],
    [403, problem({ reason: 'SpendCapReached' }), 'rate_limited', 'no'],
    [403, kind('credits'), 'rate_limited', 'no'],
    [400, problem({ detail: 'The spending limit is reached.' }), 'rate_limited', 'no'],
    [401, problem({ errors: [{ message: 'Spend cap reached' }] }), 'rate_limited', 'no'],
    [500, problem({ detail: 'The spending limit is reached.' }), 'network_unavailable', 'unknown'],
    [404, '', 'network_unavailable', 'no'],
    [429, problem({}), 'rate_limited', 'no'],
    [403, kind('usage-capped'), 'rate_limited', 'no'],
    [301, '', 'network_unavailable', 'no'],
    [408, '', 'network_unavailable', 'unknown'],
    [500, '', 'network_unavailable', 'unknown'],
    [503, '', 'network_unavailable', 'unknown'],
    [201, '{"errors":[]}', 'network_unavailable', 'unknown'],
    [201, '{"data":{"id":"../../"}}', 'network_unavailable', 'unknown'],
  ];
for (const [status, body, code, accepted] of cases) {
  test(`HTTP ${status} ${body} is ${code}`, async (t) => {
    t.like(await failureAfter(t, { status, body }), { code, accepted });
  });
}

test('a part is not published if the post before it was deleted', async (t) => {
  const before = { remoteId: '1', url: 'https://x.com/i/web/status/1' };
  for (const status of [403, 404]) {
    const error = await failureAfter(t, { status, body: problem({ detail: 'Deleted' }) }, [before]);
    t.like(error, { code: 'content_refused', accepted: 'no' });
  }
});

test('of X’s rate limit windows, those without remaining requests count, and the latest of them', async (t) => {
  const inSecs = (secs: number) => Math.ceil(Date.now() / 1000) + secs;
  const quarter = inSecs(900);
  const day = inSecs(20_000);
  const headers = {
    'x-rate-limit-remaining': '0',
    'x-rate-limit-reset': String(quarter),
    'x-app-limit-24hour-remaining': '5',
    'x-app-limit-24hour-reset': String(day),
  };
  t.like(await failureAfter(t, { status: 429, headers }), {
    retryAtMs: quarter * 1000,
    limit: 'channel',
  });
  const used = { ...headers, 'x-app-limit-24hour-remaining': '0' };
  t.like(await failureAfter(t, { status: 429, headers: used }), {
    retryAtMs: day * 1000,
    limit: 'network',
  });
  const own = {
    ...headers,
    'x-user-limit-24hour-remaining': '0',
    'x-user-limit-24hour-reset': String(day),
  };
  t.like(await failureAfter(t, { status: 429, headers: own }), {
    retryAtMs: day * 1000,
    limit: 'channel',
  });
  t.like(await failureAfter(t, { status: 429 }), { retryAtMs: undefined, limit: 'channel' });
});

test('an app without credits, or at its usage cap, makes every account wait', async (t) => {
  const beforeMs = Date.now();
  const broke = await failureAfter(t, { status: 402, body: kind('credits-depleted') });
  t.is(broke.limit, 'network');
  t.true((broke.retryAtMs ?? 0) >= beforeMs + 15 * 60_000);
  t.is((await failureAfter(t, { status: 429, body: kind('usage-capped') })).limit, 'network');
});

const monthCap = {
  title: 'SpendCapReached',
  detail: 'Your account has been blocked: it reached its billing cycle spend cap.',
  type: 'https://api.x.com/2/problems/credits',
  reset_date: '2026-12-01',
};

test('at the app’s spend cap every account waits, for posts, parts, files and lookups', async (t) => {
  const capped = { status: 403, body: JSON.stringify(monthCap) };
  const beforeMs = Date.now();
  const before = { remoteId: '1', url: 'https://x.com/i/web/status/1' };
  for (const sent of [[], [before]]) {
    const error = await failureAfter(t, capped, sent);
    t.like(error, { code: 'rate_limited', limit: 'network', accepted: 'no', server: 'answered' });
    const waitMs = (error.retryAtMs ?? 0) - beforeMs;
    t.true(waitMs >= 15 * 60_000 && waitMs < 17 * 60_000, `${waitMs}`);
    t.is(
      error.message,
      `X takes no more requests until 2026-12-01, because the app that publishes has reached its spend cap (HTTP 403): "${monthCap.detail}".`,
    );
  }

  const { sandbox, connection, posts } = await onBrokenLine(t);
  const parts = partsWith([await pictureFile()], 'Picture');
  const step = nextStep(x, await x.prepare(connection, parts, Date.now()), []);
  const waits = { code: 'rate_limited', limit: 'network' } as const;
  await order(sandbox, 'spend-cap');
  const uploading = await t.throwsAsync(sendStep(x, connection, step));
  t.like(uploading, { ...waits, accepted: 'no' });
  t.regex(uploading?.message ?? '', /until \d{4}-\d{2}-01, .*spend cap/v);
  await order(sandbox, 'spend-cap');
  t.like(await t.throwsAsync(x.reconcile(connection, step)), { ...waits, accepted: 'unknown' });
  await order(sandbox, 'no-credits');
  const broke = await t.throwsAsync(sendStep(x, connection, step));
  t.like(broke, { ...waits, accepted: 'no' });
  t.regex(broke?.message ?? '', /HTTP 402/v);
  await sendStep(x, connection, step);
  t.is((await posts()).length, 1);
});

test('an account at its daily post limit waits an hour, and no other does', async (t) => {
  const beforeMs = Date.now();
  const body = problem({ detail: 'User is over daily status update limit.' });
  const error = await failureAfter(t, { status: 403, body });
  t.like(error, { code: 'rate_limited', limit: 'channel', accepted: 'no' });
  const waitMs = (error.retryAtMs ?? 0) - beforeMs;
  t.true(waitMs >= 60 * 60_000 && waitMs < 62 * 60_000, `${waitMs}`);
});

test('a token that X repeats in its answer is not in the message', async (t) => {
  const body = problem({ detail: 'Bad header: Bearer demo' });
  const { message } = await failureAfter(t, { status: 400, body });
  t.is(message, 'X refused the post (HTTP 400): "Bad header: Bearer …".');
});

test('a revoked token loses access at each step', async (t) => {
  const { sandbox, connection, posts } = await onBrokenLine(t);
  const prepared = await x.prepare(connection, partsOf('Hi'), Date.now());
  await order(sandbox, 'revoke');
  const step = nextStep(x, prepared, []);
  const sending = sendStep(x, connection, step);
  t.like(await t.throwsAsync(sending), { code: 'access_lost', accepted: 'no' });
  const looking = x.reconcile(connection, step);
  t.like(await t.throwsAsync(looking), { code: 'access_lost', accepted: 'unknown' });
  await fetch(`${sandbox.url}/control`, { method: 'DELETE' });
  t.deepEqual(await posts(), []);
});
