import test, { type ExecutionContext } from 'ava';
import { NetworkError } from '../../../networks/network.ts';
import {
  OauthError,
  type Grant,
  type Oauth,
  type OauthContext,
} from '../../../networks/oauth/contract.ts';
import { codeFlowOauth } from '../../../networks/oauth/code-flow.ts';
import { withOptions } from '../../support/egress-without-timeouts.ts';
import { beginning, contextFor, redirectUri, state } from './context.ts';
import { startScriptedServer, type Answer, type Asked } from './scripted-server.ts';

/** The secrets in all requests, which no message may contain. */
const secrets = {
  clientSecret: 'planted-client-secret+1',
  code: 'planted-code/2',
  accessToken: 'planted-access-token-3',
  refreshToken: 'planted-refresh-token/4',
};

const grant: Grant = {
  accessToken: secrets.accessToken,
  accessEndsAtMs: 1,
  refreshToken: secrets.refreshToken,
  endsAtMs: null,
};

const flowTo = (url: string): Oauth =>
  codeFlowOauth({
    serverFor: () => ({
      name: 'The network',
      app: { clientId: 'app', clientSecret: secrets.clientSecret },
      appAdvice: 'Whoever runs this service has to check its settings.',
      authorizeUrl: `${url}/authorize`,
      tokenUrl: `${url}/token`,
      secretIn: 'form',
      usesPkce: true,
      scopes: ['write'],
    }),
    accountsOf: async () => [],
  });

async function attempts(url: string, context: OauthContext) {
  const oauth = flowTo(url);
  const { kept } = await oauth.begin(beginning(context));
  const answer = new URLSearchParams({ state, code: secrets.code });
  return {
    verifier: (kept as { readonly verifier: string }).verifier,
    finish: () => oauth.finish({ ...context, answer, redirectUri, kept }),
    refresh: () => oauth.refresh({ ...context, baseUrl: url, remoteId: '1', grant }),
  };
}

/** The results of a connection and of a refresh for a token endpoint's answer. */
const outcomes = (t: ExecutionContext, answer: Answer, timeoutMs?: number) =>
  outcomesOf(t, () => answer, timeoutMs);

async function outcomesOf(
  t: ExecutionContext,
  answerTo: (asked: Asked) => Answer,
  timeoutMs = 30_000,
) {
  const server = await startScriptedServer(t, answerTo);
  const plain = contextFor(t, [server.url]);
  const context = { ...plain, http: withOptions(plain.http, () => ({ timeoutMs })) };
  const { finish, refresh, verifier } = await attempts(server.url, context);
  const errors = {
    finish: (await t.throwsAsync(finish(), { instanceOf: OauthError })) as OauthError,
    refresh: (await t.throwsAsync(refresh(), { instanceOf: NetworkError })) as NetworkError,
  };
  for (const error of Object.values(errors)) {
    holdsNoSecret(t, error, verifier);
  }
  return { ...errors, server };
}

/** Also checks the causes, stacks and fields, which a logger may write. */
function holdsNoSecret(t: ExecutionContext, error: Error, verifier: string): void {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const written = `${at.stack} ${JSON.stringify(at)}`;
    for (const secret of [...Object.values(secrets), verifier]) {
      t.false(written.includes(secret), written);
      t.false(written.includes(encodeURIComponent(secret)), written);
    }
  }
}

test('a network’s temporary failure ends no access, and the person sees that it is temporary', async (t) => {
  const invalidGrant = { error: 'invalid_grant' };
  const raw = (status: number, body: string, headers: Record<string, string> = {}): Answer => {
    return (response) => void response.writeHead(status, headers).end(body);
  };
  const answers: Readonly<Record<string, Answer>> = {
    'a server error': { status: 500, json: { error: 'server_error' } },
    'a server error with an invalid_grant body': { status: 503, json: invalidGrant },
    'a page of a proxy': raw(502, '<html>Bad gateway</html>', { 'content-type': 'text/html' }),
    'a page with a success status': raw(200, '<html>Welcome</html>', {
      'content-type': 'text/html',
    }),
    nothing: raw(200, ''),
    'no content': raw(204, ''),
    'half of an answer': raw(200, '{"access_token":"planted-access-token-3","token_ty'),
    'no object': { json: [secrets.accessToken] },
    'no token': { json: { token_type: 'bearer', refresh_token: secrets.refreshToken } },
    'a token with a line break': { json: { token_type: 'bearer', access_token: 'a\r\nb' } },
    'a token of another type': { json: { token_type: 'mac', access_token: 'a' } },
    'a deeply nested array as the token': raw(
      200,
      `{"token_type":"bearer","access_token":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    ),
    'a bare refusal': { status: 400, json: {} },
    'a redirect': raw(302, '', { location: 'https://elsewhere.example/token' }),
    'a redirect with an invalid_grant body': { status: 307, json: invalidGrant },
    'nothing at this address': { status: 404, json: { message: 'Not found' } },
  };
  for (const [name, answer] of Object.entries(answers)) {
    const { finish, refresh, server } = await outcomes(t, answer);
    t.is(finish.code, 'unavailable', name);
    t.like(refresh, { code: 'network_unavailable', accepted: 'no', server: 'answered' }, name);
    t.deepEqual(
      server.asked.map(({ path }) => path),
      ['/token', '/token'],
      name,
    );
  }
});

test('an endless or silent answer ends in a timeout', async (t) => {
  const endless = await outcomes(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && response.write(' '.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  });
  t.like(endless.refresh, { code: 'network_unavailable' });
  t.is(endless.finish.code, 'unavailable');

  const silent = await outcomes(t, () => undefined, 300);
  t.like(silent.refresh, { code: 'network_unavailable', server: 'unreachable' });
  t.is(silent.finish.code, 'unavailable');
  t.is(silent.finish.message, 'The network did not answer in time.');

  const slow = await outcomes(
    t,
    (response) => void response.writeHead(200).write('{"access_token":"x"'),
    300,
  );
  t.like(slow.refresh, { code: 'network_unavailable' });
});

test('a rate limit is reported with its end time', async (t) => {
  const headers = { 'retry-after': '120' };
  const { finish, refresh } = await outcomes(t, { status: 429, headers, json: {} });
  t.is(finish.code, 'unavailable');
  t.is(refresh.code, 'rate_limited');
  const waitMs = (refresh.retryAtMs ?? 0) - Date.now();
  t.true(waitMs > 60_000 && waitMs <= 120_000, String(waitMs));
});

test('only a refusal that is known to mean it ends the access', async (t) => {
  const codes: Readonly<Record<string, readonly [string, string]>> = {
    invalid_grant: ['expired', 'access_lost'],
    invalid_client: ['misconfigured', 'internal'],
    unauthorized_client: ['misconfigured', 'internal'],
    invalid_request: ['misconfigured', 'network_unavailable'],
    invalid_scope: ['misconfigured', 'network_unavailable'],
    something_new: ['misconfigured', 'network_unavailable'],
  };
  for (const [error, [finishing, refreshing]] of Object.entries(codes)) {
    for (const status of [400, 401]) {
      const headers = { 'www-authenticate': 'Basic realm="tokens"' };
      const given = await outcomes(t, { status, headers, json: { error } });
      t.deepEqual([given.finish.code, given.refresh.code], [finishing, refreshing], error);
    }
  }
});

test('a server’s message is quoted without the sent secrets', async (t) => {
  const { finish, refresh } = await outcomesOf(t, ({ form, body }) => {
    const words = `No: ${[...form.values()].join(', ')}, or ${body}`;
    return { status: 400, json: { error: 'invalid_grant', error_description: words } };
  });
  t.regex(finish.message, /\(HTTP 400\): "No: /v);
  t.regex(refresh.message, /\(HTTP 400\): "No: /v);

  const endless = { error: 'invalid_grant', error_description: 'word\n'.repeat(100_000) };
  const long = await outcomes(t, { status: 400, json: endless });
  t.true(long.finish.message.length < 500);
  t.false(long.finish.message.includes('\n'));
});

async function refreshed(t: ExecutionContext, json: object, before: Grant, nowMs: number) {
  const server = await startScriptedServer(t, () => ({ json }));
  const context = contextFor(t, [server.url], { now: () => new Date(nowMs) });
  const request = { ...context, baseUrl: server.url, remoteId: '1', grant: before };
  return flowTo(server.url).refresh(request);
}

test('a refresh keeps the fields that the answer leaves out', async (t) => {
  const nowMs = Date.parse('2026-11-23T12:00:00Z');
  const before = { ...grant, endsAtMs: nowMs + 5_000_000, data: { key: 'kept' } };
  const kept = { refreshToken: secrets.refreshToken, data: { key: 'kept' } };

  // Neither a new refresh token nor a token type.
  t.deepEqual(await refreshed(t, { access_token: 'new', expires_in: 3600 }, before, nowMs), {
    ...kept,
    accessToken: 'new',
    accessEndsAtMs: nowMs + 3_600_000,
    endsAtMs: nowMs + 5_000_000,
  });
  const withNulls = { access_token: 'new', expires_in: null, refresh_token: null, scope: null };
  t.like(await refreshed(t, withNulls, before, nowMs), { ...kept, accessEndsAtMs: null });
  const longer = { access_token: 'new', refresh_token_expires_in: 7200 };
  t.like(await refreshed(t, longer, before, nowMs), { ...kept, endsAtMs: nowMs + 7_200_000 });
  // The old refresh token's expiry does not apply to the new one.
  const rotated = { access_token: 'new', refresh_token: 'newer' };
  t.like(await refreshed(t, rotated, before, nowMs), { refreshToken: 'newer', endsAtMs: null });
  // Beyond the range of dates.
  const endless = { access_token: 'new', expires_in: 1e300 };
  t.like(await refreshed(t, endless, before, nowMs), { accessEndsAtMs: null });
});

test('a grant without a refresh token ends with its access token', async (t) => {
  const context = contextFor(t, ['http://127.0.0.1:9']);
  const only = { ...grant, refreshToken: null };
  const refresh = (accessEndsAtMs: number | null) =>
    flowTo('http://127.0.0.1:9').refresh({
      ...context,
      baseUrl: '',
      remoteId: '1',
      grant: { ...only, accessEndsAtMs },
    });
  t.like(await t.throwsAsync(refresh(Date.now())), { code: 'access_lost' });
  const later = Date.now() + 60_000;
  t.deepEqual(await refresh(later), { ...only, accessEndsAtMs: later });
  t.deepEqual(await refresh(null), { ...only, accessEndsAtMs: null });
});
