import test from 'ava';
import type { ChannelErrorCode, LimitScope } from '../../domain/channel-error.ts';
import { readXrpcError, refusal as ofBluesky } from '../../networks/bluesky/client.ts';
import { baseUrlOf, type Purpose } from '../../networks/http.ts';
import { refusal as ofLinkedin } from '../../networks/linkedin/client.ts';
import { refusal as ofMastodon } from '../../networks/mastodon/client.ts';
import type { NetworkError } from '../../networks/network.ts';
import { openNetworks } from '../../networks/registry.ts';
import { openSandbox } from '../sandbox/open-sandbox.ts';
import { egressTo, openConnection } from './connection.ts';
import { nextStep, partsOf, sendStep } from './publish.ts';

const secret = 'sEcReT-token';

type Case = {
  readonly status: number;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly purpose?: Purpose;
  readonly code: ChannelErrorCode;
  /** Whether the network certainly has no post; `no` by default. */
  readonly accepted?: 'no' | 'unknown';
  readonly limit?: LimitScope;
  /** Text that the message must contain. */
  readonly says?: string;
};

type Refuse = (answer: Parameters<typeof ofMastodon>[0], purpose: Purpose) => NetworkError;

const xrpc = (error: string, message = `About ${error}`) => ({ error, message });
const policy = (value: string) => ({ 'ratelimit-policy': value, 'retry-after': '60' });

const duplicate = {
  errorDetailType: 'com.linkedin.common.error.BadRequest',
  message: 'Content is a duplicate of urn:li:share:7141138937766391808',
  errorDetails: { inputErrors: [{ input: {}, code: 'DUPLICATE_POST' }] },
  status: 422,
};
const throttle = (who: string) => ({
  message: `Resource level throttle ${who} DAY limit for calls to this resource is reached.`,
});

const cases: Readonly<Record<string, readonly Case[]>> = {
  linkedin: [
    { status: 401, body: { serviceErrorCode: 65_600, message: 'Invalid' }, code: 'access_lost' },
    { status: 401, body: { serviceErrorCode: 65_601, message: 'Revoked' }, code: 'access_lost' },
    { status: 401, body: { serviceErrorCode: 65_602, message: 'Expired' }, code: 'access_lost' },
    { status: 401, body: { code: 'EXPIRED_ACCESS_TOKEN' }, code: 'access_lost' },
    { status: 401, body: '<html>', code: 'network_unavailable' },
    { status: 403, body: { code: 'ACCESS_DENIED' }, code: 'permission_missing' },
    { status: 422, body: duplicate, code: 'duplicate' },
    { status: 422, body: { message: 'ERROR :: /commentary' }, code: 'content_refused' },
    { status: 400, body: { code: 'FIELD_LENGTH_TOO_LONG' }, code: 'content_refused' },
    { status: 400, body: { code: 'MEDIA_ASSET_WAITING_UPLOAD' }, code: 'network_unavailable' },
    {
      status: 422,
      body: { message: 'ERROR :: urn:li:video:1 is still processing' },
      code: 'network_unavailable',
    },
    {
      status: 422,
      body: { message: 'The asset is still being processed' },
      code: 'network_unavailable',
    },
    {
      status: 400,
      body: { errorDetails: { inputErrors: [{ code: 'MEDIA_ASSET_WAITING_UPLOAD' }] } },
      code: 'network_unavailable',
    },
    { status: 400, body: { code: 'MEDIA_ASSET_PROCESSING_FAILED' }, code: 'media_refused' },
    { status: 400, purpose: 'upload', body: {}, code: 'media_refused', says: '"a.png"' },
    { status: 413, purpose: 'upload', body: '<html>', code: 'media_refused' },
    {
      status: 400,
      purpose: 'upload',
      body: { code: 'EXPIRED_UPLOAD_URL' },
      code: 'network_unavailable',
    },
    { status: 426, body: {}, code: 'internal', says: 'PUNCTUAL_LINKEDIN_VERSION' },
    { status: 429, body: throttle('MEMBER'), code: 'rate_limited' },
    { status: 429, body: throttle('APPLICATION'), code: 'rate_limited', limit: 'network' },
    { status: 429, body: '<html>', code: 'rate_limited' },
    { status: 404, body: {}, code: 'network_unavailable' },
    { status: 408, code: 'network_unavailable', accepted: 'unknown' },
    {
      status: 500,
      body: { code: 'INTERNAL_SERVER_ERROR' },
      code: 'network_unavailable',
      accepted: 'unknown',
    },
    { status: 503, body: '', code: 'network_unavailable', accepted: 'unknown' },
  ],
  mastodon: [
    { status: 401, body: { error: 'The access token was revoked' }, code: 'access_lost' },
    { status: 403, body: { error: 'This action is not allowed' }, code: 'permission_missing' },
    { status: 422, body: { error: 'Text is too long' }, code: 'content_refused' },
    { status: 400, body: { error: 'Bad' }, code: 'content_refused' },
    { status: 422, purpose: 'upload', body: { error: 'Too big' }, code: 'media_refused' },
    { status: 413, purpose: 'upload', body: '<html>', code: 'media_refused', says: '"a.png"' },
    { status: 422, purpose: 'prepare', code: 'access_lost' },
    { status: 404, code: 'network_unavailable', says: 'no Mastodon API at this address' },
    { status: 301, code: 'network_unavailable' },
    { status: 429, body: { error: 'Too many requests' }, code: 'rate_limited' },
    { status: 429, body: { error: 'rate limit reached' }, code: 'rate_limited', limit: 'server' },
    { status: 429, body: '<html>', code: 'rate_limited' },
    { status: 408, code: 'network_unavailable', accepted: 'unknown' },
    { status: 500, body: { error: 'Oops' }, code: 'network_unavailable', accepted: 'unknown' },
    { status: 503, body: '', code: 'network_unavailable', accepted: 'unknown' },
  ],
  bluesky: [
    { status: 401, body: xrpc('AuthenticationRequired'), code: 'access_lost' },
    { status: 400, body: xrpc('ExpiredToken'), code: 'access_lost' },
    { status: 401, body: xrpc('AccountTakedown'), code: 'access_lost' },
    { status: 403, body: xrpc('Forbidden'), code: 'permission_missing' },
    { status: 400, body: xrpc('InvalidRequest'), code: 'content_refused' },
    { status: 400, body: xrpc('InvalidMimeType'), code: 'media_refused' },
    { status: 400, body: xrpc('InvalidRequest', 'record/embed bad'), code: 'media_refused' },
    { status: 413, purpose: 'upload', body: xrpc('BlobTooLarge'), code: 'media_refused' },
    {
      status: 429,
      body: xrpc('RateLimitExceeded'),
      headers: policy('3000;w=300'),
      code: 'rate_limited',
      limit: 'server',
      says: 'whichever account',
    },
    { status: 429, headers: policy('30;w=300'), code: 'rate_limited' },
    { status: 429, headers: policy('5000;w=3600'), code: 'rate_limited' },
    { status: 429, headers: policy('nonsense'), code: 'rate_limited' },
    { status: 429, body: '<html>', code: 'rate_limited' },
    { status: 404, body: xrpc('MethodNotImplemented'), code: 'network_unavailable' },
    {
      status: 502,
      body: xrpc('UpstreamFailure'),
      code: 'network_unavailable',
      accepted: 'unknown',
    },
  ],
};

const refuse: Readonly<Record<string, Refuse>> = {
  mastodon: (answer, purpose) =>
    ofMastodon(answer, { purpose, accessToken: secret, fileName: 'a.png' }),
  bluesky: (answer, purpose) =>
    ofBluesky(answer, { purpose, accessToken: secret, fileName: 'a.png' }),
  linkedin: (answer, purpose) =>
    ofLinkedin(answer, {
      purpose,
      accessToken: secret,
      headers: { 'linkedin-version': '202609' },
      fileName: 'a.png',
    }),
};

const wordsOf = (body: Case['body']): string | undefined =>
  typeof body === 'object' && 'message' in body
    ? String(body.message)
    : typeof body === 'object' && 'error' in body
      ? String(body.error)
      : undefined;

for (const [network, answers] of Object.entries(cases)) {
  test(`an answer of ${network} becomes a stable code and a sentence with the network’s message`, (t) => {
    for (const { status, body = '', headers = {}, purpose = 'create', ...expected } of answers) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const answer = { status, headers, body: Buffer.from(text), truncated: false };
      const error = refuse[network]?.(answer, purpose);
      const { accepted = 'no', limit = 'channel', code, says = '' } = expected;
      const what = `${purpose} ${status} ${text}`;
      t.like(error, { code, accepted, limit }, what);
      const message = error?.message ?? '';
      t.regex(
        message,
        /^(?:The (?:Mastodon|Bluesky) server|LinkedIn) [^\n]+\(HTTP \d+\)(?:: "[^\n]+")?\.$/v,
        what,
      );
      t.true(message.includes(String(status)) && message.includes(says), message);
      t.true(message.includes(wordsOf(body) ?? ''), message);
    }
  });

  test(`no message of ${network} repeats a secret, for any answer`, (t) => {
    const words = `Bad header: Bearer ${secret}`;
    const body = Buffer.from(JSON.stringify({ error: words, message: words }));
    for (let status = 300; status < 600; status++) {
      for (const purpose of ['prepare', 'upload', 'create', 'reconcile'] as const) {
        const answer = { status, headers: {}, body, truncated: false };
        const error = refuse[network]?.(answer, purpose);
        t.false(error?.message.includes(secret), error?.message);
        t.truthy(error?.code);
        // All limits of LinkedIn end at midnight.
        const isDaily = network === 'linkedin' && status === 429;
        t.is(error?.retryAtMs === undefined, !isDaily);
      }
    }
  });

  test(`the retry time of ${network} is used, for a rate limit as well as an outage`, (t) => {
    const at = (status: number, headers: Record<string, string>) =>
      refuse[network]?.({ status, headers, body: Buffer.alloc(0), truncated: false }, 'create')
        .retryAtMs;
    const inAMinute = Date.now() + 60_000;
    for (const status of [429, 503]) {
      const told = at(status, { 'retry-after': '60' }) ?? 0;
      t.true(told >= inAMinute && told <= Date.now() + 60_000, `${status}`);
    }
    // Every answer has the limit's reset time, also one with another cause.
    const reset = { 'x-ratelimit-reset': new Date(inAMinute).toISOString() };
    t.is(at(429, reset), inAMinute);
    t.is(at(503, reset), undefined);
  });
}

test('a call of LinkedIn without a version that is no longer served needs a newer Punctual', (t) => {
  const answer = { status: 426, headers: {}, body: Buffer.alloc(0), truncated: false };
  const { message } = ofLinkedin(answer, { purpose: 'prepare', headers: {} });
  t.regex(message, /^LinkedIn no longer serves a call without a version\. .*update Punctual/v);
});

test('a message of two megabytes is cut before anything reads it, and costs no time', (t) => {
  for (const [network, refusal] of Object.entries(refuse)) {
    for (const word of ['record ', 'over ', '<', 'APPLICATION ']) {
      const said = word.repeat(1_900_000 / word.length);
      const body = Buffer.from(JSON.stringify({ error: said, message: said }));
      const before = process.threadCpuUsage();
      const error = refusal({ status: 400, headers: {}, body, truncated: false }, 'create');
      t.true(process.threadCpuUsage(before).user < 300_000, network);
      t.is(error.code, 'content_refused');
    }
  }
  const long = { error: 'a'.repeat(1_000_000), message: '😀'.repeat(500_000) };
  const read = readXrpcError(long);
  t.deepEqual([read?.error.length, read?.message?.length], [20_000, 20_000]);
});

// A server's address.

test('an address is normalised from the forms that people write', (t) => {
  for (const address of ['a.example', 'a.example/', 'https://a.example', 'HTTPS://A.example//']) {
    t.is(baseUrlOf(address), 'https://a.example');
  }
  t.is(baseUrlOf('http://127.0.0.1:3000/mastodon/'), 'http://127.0.0.1:3000/mastodon');
});

test('an invalid server address is refused, without repeating a password in it', (t) => {
  for (const address of [
    '',
    'https://',
    'a b',
    'https://a.example/?q',
    'https://me:pw@a.example',
  ]) {
    const error = t.throws(() => baseUrlOf(address));
    t.like(error, { code: 'invalid_request' });
    t.false(error?.message.includes('pw'));
  }
});

const networks = openNetworks({});

/** The outcomes of a post with `#sandbox-unconfirmed`, whose state no network shows. */
const outcomes = {
  mastodon: { code: 'unconfirmed' },
  x: { code: 'unconfirmed' },
  bluesky: { code: 'unconfirmed' },
  linkedin: { kind: 'found' },
} as const;

for (const [platform, outcome] of Object.entries(outcomes)) {
  for (const isFirst of [true, false]) {
    test(`${platform}: #sandbox-unconfirmed hides the outcome of its post ${isFirst ? 'before' : 'after'} a lost one, and of no other`, async (t) => {
      const { url } = await openSandbox(t);
      const network = (await networks.load())[platform]!;
      const [, connector] = Object.entries(networks.connectors).find(([id]) => id === platform)!;
      const account = await connector.connect(egressTo(t, url), connector.sandbox(url));
      const connection = openConnection(t, account);
      // Both are prepared before either is sent, so that both lookups cover both posts.
      const texts = ['#sandbox-unconfirmed', '#sandbox-lost'];
      const steps = await Promise.all(
        texts.map(async (text) => {
          const parts = await network.prepare(connection, partsOf(text), Date.now());
          return { text, step: nextStep(network, parts, []) };
        }),
      );
      for (const { step } of isFirst ? steps : steps.toReversed()) {
        const sending = sendStep(network, connection, step);
        t.like(await t.throwsAsync(sending), { accepted: 'unknown' });
      }

      for (const { text, step } of steps) {
        const found = await network.reconcile(connection, step).catch((error: unknown) => error);
        t.like(found, text === '#sandbox-lost' ? { kind: 'found' } : outcome, text);
      }
    });
  }
}
