import test, { type ExecutionContext } from 'ava';
import type { Grant } from '../../../networks/oauth/contract.ts';
import { openNetworks } from '../../../networks/registry.ts';
import { x as entry } from '../../../networks/x/entry.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { beginning, contextFor, redirectUri, state } from '../oauth/context.ts';
import { startScriptedServer, type Answer, type Asked } from '../oauth/scripted-server.ts';
import { partsOf, publish } from '../publish.ts';
import { bench, connected, x } from './bench.ts';
import { onBrokenLine } from './broken-line.ts';

const pair = {
  token_type: 'bearer',
  expires_in: 7200,
  access_token: 'an-access-token',
  scope: 'tweet.read tweet.write users.read media.write offline.access',
  refresh_token: 'a-refresh-token',
};

/** The part of X that a connection needs. */
async function opened(
  t: ExecutionContext,
  token: (asked: Asked) => Answer = () => ({ json: pair }),
) {
  const server = await startScriptedServer(t, (asked) =>
    asked.path.startsWith('/2/users/me')
      ? { json: { data: { id: '42', username: 'alice', name: 'Alice' } } }
      : token(asked),
  );
  const env = {
    PUNCTUAL_X_API_URL: server.url,
    PUNCTUAL_X_CLIENT_ID: 'app-1',
    PUNCTUAL_X_CLIENT_SECRET: 'app-secret_1',
  };
  const { oauth } = entry(env, []);
  const context = contextFor(t, [server.url]);
  return { server, env, entry: oauth, oauth: await oauth!.load(), context };
}

const begin = async (t: ExecutionContext) => {
  const { oauth, context, server } = await opened(t);
  return { server, oauth, context, begun: await oauth.begin(beginning(context)) };
};

const answerOf = (code: string) => new URLSearchParams({ state, code });

test('the browser is sent to X with all scopes and PKCE', async (t) => {
  const { begun, server } = await begin(t);
  const url = new URL(begun.url);
  t.is(url.origin + url.pathname, `${server.url}/i/oauth2/authorize`);
  t.like(Object.fromEntries(url.searchParams), {
    response_type: 'code',
    client_id: 'app-1',
    redirect_uri: redirectUri,
    scope: pair.scope,
    state,
    code_challenge_method: 'S256',
  });
  t.false(begun.url.includes('app-secret'));
});

test('a code gives access, with a grant that lasts two hours and can be renewed', async (t) => {
  const { server, oauth, context, begun } = await begin(t);
  const finish = { ...context, answer: answerOf('c1'), redirectUri, kept: begun.kept };
  const { grant, accounts } = await oauth.finish(finish);
  const [asked] = server.asked;
  t.is(asked?.headers.authorization, `Basic ${btoa('app-1:app-secret_1')}`);
  t.like(Object.fromEntries(asked?.form ?? []), {
    grant_type: 'authorization_code',
    code: 'c1',
    redirect_uri: redirectUri,
  });
  t.regex(asked?.form.get('code_verifier') ?? '', /^[\w\-]{43}$/v);
  t.like(grant, {
    accessToken: 'an-access-token',
    refreshToken: 'a-refresh-token',
    endsAtMs: null,
  });
  t.deepEqual(accounts, [
    {
      baseUrl: server.url,
      remoteId: '42',
      handle: '@alice',
      displayName: 'Alice',
      credentials: {},
      session: null,
      settings: {},
    },
  ]);
});

const grant: Grant = {
  accessToken: 'an-access-token',
  accessEndsAtMs: 0,
  refreshToken: 'a-refresh-token',
  endsAtMs: null,
};

const refresh = async (t: ExecutionContext, answer: Answer) => {
  const { oauth, context } = await opened(t, () => answer);
  return oauth.refresh({ ...context, baseUrl: 'https://api.x.com', remoteId: '42', grant });
};

test('both of X’s answers to an expired refresh token end the access', async (t) => {
  for (const json of [
    { error: 'invalid_request', error_description: 'Value passed for the token was invalid.' },
    { error: 'invalid_grant' },
  ]) {
    const error = await t.throwsAsync(refresh(t, { status: 400, json }));
    t.like(error, { name: 'NetworkError', code: 'access_lost' });
  }
});

test('any other refusal of X keeps the access', async (t) => {
  const other = { error: 'invalid_request', error_description: 'Missing required parameter.' };
  const error = await t.throwsAsync(refresh(t, { status: 400, json: other }));
  t.like(error, { name: 'NetworkError', code: 'network_unavailable' });
});

test('at the app’s spend cap a refresh waits, and the message says so', async (t) => {
  const detail = 'Your monthly spend cap has been reached.';
  for (const json of [
    { title: 'SpendCapReached', detail, reset_date: '2026-12-01' },
    { title: 'Forbidden', reason: 'SpendCapReached', detail, reset_date: '2026-12-01' },
  ]) {
    const error = await t.throwsAsync(refresh(t, { status: 403, json }));
    t.like(error, { name: 'NetworkError', code: 'rate_limited', accepted: 'no' });
    t.regex(error?.message ?? '', /until 2026-12-01, because .* spend cap \(HTTP 403\): "Your/v);
  }
});

test('a code that X refuses is reported as expired', async (t) => {
  const words = 'Value passed for the authorization code was invalid.';
  const { oauth, context } = await opened(t, () => ({
    status: 400,
    json: { error: 'invalid_request', error_description: words },
  }));
  const { kept } = await oauth.begin(beginning(context));
  const finish = { ...context, answer: answerOf('c1'), redirectUri, kept };
  t.like(await t.throwsAsync(oauth.finish(finish)), { name: 'OauthError', code: 'expired' });
});

test('without an app, the error names its settings, and no connection begins', async (t) => {
  const { oauth } = entry({ PUNCTUAL_X_CLIENT_ID: 'app-1' }, []);
  t.deepEqual(oauth?.missing, ['PUNCTUAL_X_CLIENT_SECRET']);
  t.deepEqual(entry({}, []).oauth?.missing, ['PUNCTUAL_X_CLIENT_ID', 'PUNCTUAL_X_CLIENT_SECRET']);
  const context = contextFor(t, ['http://127.0.0.1:9']);
  const loaded = await oauth!.load();
  const error = await t.throwsAsync(loaded.begin(beginning(context)));
  t.like(error, { name: 'OauthError', code: 'misconfigured' });
  t.regex(error?.message ?? '', /has to set PUNCTUAL_X_CLIENT_SECRET\.$/v);
  const lost = loaded.refresh({ ...context, baseUrl: 'https://api.x.com', remoteId: '1', grant });
  t.like(await t.throwsAsync(lost), { name: 'NetworkError', code: 'internal' });
});

test('a check asks X for the token’s account, and finds when the token has expired', async (t) => {
  const { url } = await openSandbox(t);
  const { check } = entry({}, []);
  const { http } = contextFor(t, [url]);
  const connection = { http, baseUrl: `${url}/x`, remoteId: '', session: null, settings: {} };
  const owner = await check!({ ...connection, credentials: { accessToken: 'demo' } });
  t.regex(owner.remoteId, /^\d+$/v);
  const wrong = check!({ ...connection, credentials: { accessToken: 'no-token-of-anybody' } });
  t.like(await t.throwsAsync(wrong), { name: 'NetworkError', code: 'access_lost' });
});

test('no message has the token, whatever X’s lookup of the account repeats', async (t) => {
  const server = await startScriptedServer(t, ({ path, headers }) =>
    path === '/x/2/oauth2/token'
      ? { json: pair }
      : { status: 403, json: { title: 'Forbidden', detail: `Not with ${headers.authorization}` } },
  );
  const { oauth } = await opened(t);
  const context = contextFor(t, [server.url], { sandboxUrl: server.url });
  const { kept } = await oauth.begin(beginning(context));
  const finished = oauth.finish({ ...context, answer: answerOf('c1'), redirectUri, kept });
  const error = await t.throwsAsync(finished);
  t.like(error, { name: 'OauthError', code: 'no_account' });
  t.regex(error?.message ?? '', /"Not with Bearer …"/v);
  t.false(`${error?.stack} ${String(error?.cause)}`.includes('an-access-token'));
});

readsMetrics(test, {
  ...bench,
  connect: async (t) => {
    const { sandbox, account } = await connected(t);
    return { url: sandbox.url, account };
  },
  reads: { method: 'GET', path: /\/2\/tweets\?/ },
  expectedMetrics: { impressions: 900, likes: 20, comments: 3, shares: 9, saves: 6 },
  tellsFollowers: false,
});

test('a metric that X hides is absent, and never 0', async (t) => {
  const { sandbox, connection } = await connected(t);
  const [sent] = (await publish(x, connection, partsOf('Hi'))).sent;
  const id = sent?.remoteId ?? '';
  const figures = { impressions: null, saves: null, likes: 1, comments: 2, reposts: 3, quotes: 4 };
  await setFigures(sandbox.url, { platform: 'x', id, figures });
  t.deepEqual((await readerOf(x).read(connection, [id])).get(id), {
    kind: 'read',
    metrics: { likes: 1, comments: 2, shares: 7 },
  });
});

test('a hundred posts of X are one request, and paid reads are limited and happen once a day', async (t) => {
  const { proxy, connection } = await onBrokenLine(t);
  const ids = Array.from({ length: 100 }, (_, index) => String(10n ** 18n + BigInt(index)));
  const readings = await readerOf(x).read(connection, ids);
  t.is(proxy.seen.length, 1);
  t.true([...readings.values()].every(({ kind }) => kind === 'gone') && readings.size === 100);
  t.like(readerOf(x), { batchSize: 100, readsPerMonth: 10_000 });
  t.is(x.rules.metricsEveryMs, 24 * 3_600_000);
});

test('settings decide how often X is read and how much of it per month; 0 turns it off', async (t) => {
  const open = async (env: Record<string, string>) => (await openNetworks(env).load())['x'];
  t.is((await open({ PUNCTUAL_X_METRIC_READS_PER_MONTH: '0' }))?.metrics, undefined);
  t.like(
    await open({ PUNCTUAL_X_METRIC_READS_PER_MONTH: '7', PUNCTUAL_X_METRICS_EVERY_HOURS: '48' }),
    { metrics: { readsPerMonth: 7 }, rules: { metricsEveryMs: 48 * 3_600_000 } },
  );
  t.throws(() => openNetworks({ PUNCTUAL_X_METRICS_EVERY_HOURS: '0' }), {
    message: /PUNCTUAL_X_METRICS_EVERY_HOURS must be a whole number from 1 to 8760/v,
  });
});
