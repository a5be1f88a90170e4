import test, { type ExecutionContext } from 'ava';
import type { Json } from '../../../domain/json-schema.ts';
import { NetworkError } from '../../../networks/network.ts';
import { youtubeNetwork } from '../../../networks/youtube/adapter.ts';
import { connectYoutube } from '../../../networks/youtube/connect.ts';
import { youtube } from '../../../networks/youtube/entry.ts';
import { nextPacificMidnight } from '../../../networks/youtube/refusal.ts';
import { openSandbox } from '../../sandbox/open-sandbox.ts';
import { lossyProxy, type Target } from '../../support/lossy-proxy.ts';
import { egressTo, openConnection } from '../connection.ts';
import { readerOf, readsMetrics, setFigures } from '../metrics-suite.ts';
import { connectBy, loaded } from '../oauth/connect-by.ts';
import { contextFor } from '../oauth/context.ts';
import { startScriptedServer, type Answer } from '../oauth/scripted-server.ts';
import { publish } from '../publish.ts';
import { bench, filmParts, google, openYoutube, throughProxy } from './bench.ts';

const scopes = ['youtube.upload', 'youtube.readonly', 'youtube.force-ssl'].map(
  (name) => `https://www.googleapis.com/auth/${name}`,
);
const tokens = {
  access_token: 'an-access-token',
  expires_in: 3599,
  token_type: 'Bearer',
  scope: scopes.join(' '),
  refresh_token: 'a-refresh-token',
};
const channel = { id: 'UC1', snippet: { title: 'Alice', customUrl: '@alice' } };

type Answers = { readonly token?: object; readonly channels?: readonly object[] };

async function opened(t: ExecutionContext, answers: Answers = {}) {
  const server = await startScriptedServer(t, ({ path }): Answer => {
    const isToken = path === '/token';
    return { json: isToken ? (answers.token ?? tokens) : { items: answers.channels ?? [channel] } };
  });
  const env = {
    PUNCTUAL_YOUTUBE_API_URL: server.url,
    PUNCTUAL_YOUTUBE_CLIENT_ID: 'app-1',
    PUNCTUAL_YOUTUBE_CLIENT_SECRET: 'app-secret',
  };
  const oauth = await loaded(t, youtube(env, []).oauth);
  return { server, oauth, context: contextFor(t, [server.url]) };
}

test('a channel connects, with access that can be renewed without its owner', async (t) => {
  const { server, oauth, context } = await opened(t);
  const { asked, finished } = await connectBy(oauth, context);
  t.like(Object.fromEntries(asked.searchParams), {
    access_type: 'offline',
    prompt: 'consent',
    scope: scopes.join(' '),
    code_challenge_method: 'S256',
  });
  const { grant, accounts } = await finished;
  t.like(grant, {
    accessToken: 'an-access-token',
    refreshToken: 'a-refresh-token',
    endsAtMs: null,
  });
  t.deepEqual(accounts, [
    {
      baseUrl: server.url,
      remoteId: 'UC1',
      handle: '@alice',
      displayName: 'Alice',
      credentials: {},
      session: null,
      settings: { webUrl: server.url },
    },
  ]);
  const form = server.asked[0]?.form;
  t.is(form?.get('client_secret'), 'app-secret');
  t.regex(form?.get('code_verifier') ?? '', /^[\w\-]{43}$/v);
});

test('a person chooses if a grant covers several channels', async (t) => {
  const channels = [channel, { id: 'UC2', snippet: { title: 'A brand' } }];
  const { oauth, context } = await opened(t, { channels });
  const { accounts } = await (await connectBy(oauth, context)).finished;
  t.deepEqual(
    accounts.map(({ remoteId, handle }) => [remoteId, handle]),
    [
      ['UC1', '@alice'],
      ['UC2', 'A brand'],
    ],
  );
});

test('a person who did not tick all boxes gets an error with the missing ones', async (t) => {
  const token = { ...tokens, scope: scopes.slice(0, 2).join(' ') };
  const { oauth, context } = await opened(t, { token });
  const error = await t.throwsAsync((await connectBy(oauth, context)).finished);
  t.like(error, { name: 'OauthError', code: 'denied' });
  t.regex(error?.message ?? '', /tick "See, edit, and permanently delete your YouTube videos/v);
  t.notRegex(error?.message ?? '', /"View your/v);
});

test('access that could not be renewed is not stored', async (t) => {
  const { refresh_token: _none, ...token } = tokens;
  const { oauth, context } = await opened(t, { token });
  const error = await t.throwsAsync((await connectBy(oauth, context)).finished);
  t.like(error, { name: 'OauthError', code: 'unavailable' });
});

test('a Google account without a channel gets an error that says so', async (t) => {
  const { oauth, context } = await opened(t, { channels: [] });
  const error = await t.throwsAsync((await connectBy(oauth, context)).finished);
  t.like(error, { code: 'no_account', message: 'This Google account has no YouTube channel.' });
});

test('a callback in another issuer’s name than Google’s is refused', async (t) => {
  const env = { PUNCTUAL_YOUTUBE_CLIENT_ID: 'app-1', PUNCTUAL_YOUTUBE_CLIENT_SECRET: 's' };
  const oauth = await loaded(t, youtube(env, []).oauth);
  // No request is sent: a callback that passes the check fails at the connection.
  const context = contextFor(t, ['http://127.0.0.1:9'], {
    http: {
      request: () => Promise.reject(new Error('a request was sent')),
      close: async () => undefined,
    },
  });
  const finished = async (iss: string) =>
    (await connectBy(oauth, context, { code: 'a-code', iss })).finished;
  const message = 'a request was sent';
  await t.throwsAsync(
    finished('https://accounts.google.com'),
    { message: /did not complete the request/v },
    message,
  );
  const error = await t.throwsAsync(finished('https://accounts.example.com'));
  t.like(error, { name: 'OauthError', code: 'expired' });
});

test('a check finds whether a channel still gives access', async (t) => {
  const { url } = await openSandbox(t);
  const { http } = contextFor(t, [url]);
  const { check } = youtube({}, []);
  const checked = async (accessToken: string) =>
    check?.({
      http,
      baseUrl: `${url}/youtube`,
      remoteId: '',
      session: null,
      settings: {},
      credentials: { accessToken },
    });
  t.regex((await checked('demo'))?.remoteId ?? '', /^UC/v);
  t.like(await t.throwsAsync(checked('nobodys')), { code: 'access_lost' });
});

test('an error names the settings that an app needs', (t) => {
  t.deepEqual(youtube({}, []).oauth?.missing, [
    'PUNCTUAL_YOUTUBE_CLIENT_ID',
    'PUNCTUAL_YOUTUBE_CLIENT_SECRET',
  ]);
});

const channelsRequest: Target = { method: 'GET', path: /\/youtube\/v3\/channels\?/ };

test('a token connects its channel, with its handle and its uploads', async (t) => {
  const { account } = await openYoutube(t);
  t.like(account, {
    remoteId: 'UCsandboxDemoChannel0000',
    handle: '@demo',
    credentials: { accessToken: 'demo' },
    settings: { uploadsPlaylist: 'UUsandboxDemoChannel0000', webUrl: account.baseUrl },
  });
});

test('a token without a channel does not connect', async (t) => {
  const { account, proxy } = await throughProxy(t);
  const http = egressTo(t, proxy.url);
  const connect = (accessToken: string) =>
    t.throwsAsync(connectYoutube(http, { baseUrl: proxy.url, accessToken }), {
      instanceOf: NetworkError,
    });
  t.is((await connect('wrong')).code, 'access_lost');
  t.is((await connect('with space')).code, 'access_lost');
  proxy.plan(channelsRequest, { kind: 'overruled', answer: { status: 200, body: '{}' } });
  t.is((await connect('demo')).code, 'permission_missing');
  proxy.plan(channelsRequest, {
    kind: 'overruled',
    answer: google(403, 'insufficientPermissions'),
  });
  t.is((await connect('demo')).code, 'permission_missing');
  t.is(account.session, null);
});

const begins: Target = { method: 'POST', path: /\/upload\/youtube\/v3\/videos\?/ };

test('an upload URL on another server gets no token', async (t) => {
  const { account } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  for (const location of ['http://127.0.0.1:1/upload', 'https://evil.example/', 'ftp://x/']) {
    proxy.plan(begins, { kind: 'overruled', answer: { status: 200, headers: { location } } });
    const connection = openConnection(t, account, { baseUrl: proxy.url });
    const error = await t.throwsAsync(publish(youtubeNetwork, connection, await filmParts(['Hi'])));
    t.like(error, { code: 'network_unavailable', accepted: 'no' });
    t.regex(error.message, /not its own/v);
  }
});

const reader = readerOf(youtubeNetwork);
const reads = { method: 'GET', path: /\/videos\?/v };
const answering = (body: Json) => ({
  kind: 'overruled' as const,
  answer: { status: 200, body: JSON.stringify(body) },
});

readsMetrics(test, {
  ...bench,
  connect: async (t) => {
    const { sandbox, account } = await openYoutube(t);
    return { url: sandbox.url, account };
  },
  reads,
  expectedMetrics: { likes: 20, comments: 3 },
  tellsFollowers: true,
});

test('likes, comments and subscribers that an owner hides are absent, and never 0', async (t) => {
  const { sandbox, account } = await openYoutube(t);
  const connection = openConnection(t, account);
  const [sent] = (await publish(youtubeNetwork, connection, await filmParts(['Hi']))).sent;
  const id = sent?.remoteId ?? '';
  const figures = { likes: null, comments: null };
  await setFigures(sandbox.url, { platform: 'youtube', id, figures });
  await setFigures(sandbox.url, { platform: 'youtube', followers: null });
  t.deepEqual((await reader.read(connection, [id])).get(id), { kind: 'read', metrics: {} });
  t.is(await reader.followers?.(connection), null);
});

test('a missing video is gone only if it is missing twice, and the token belongs to its channel', async (t) => {
  const { account } = await openYoutube(t);
  const proxy = await lossyProxy(t, account.baseUrl);
  const connection = openConnection(t, account, { baseUrl: proxy.url });
  const { sent } = await publish(youtubeNetwork, connection, await filmParts(['Hi']));
  const ids = sent.map(({ remoteId }) => remoteId);
  const channels = { method: 'GET', path: /\/channels\?/v };

  proxy.plan(reads, answering({ items: [] }));
  t.is((await reader.read(connection, ids)).size, 0, 'the second lookup finds it');
  for (const body of [{}, { items: [] }, { items: [{ id: 'UCanother' }] }]) {
    proxy.plan(reads, answering({ items: [] }));
    proxy.plan(channels, answering(body));
    t.is((await reader.read(connection, ids)).size, 0, JSON.stringify(body));
  }
});

const midnights: readonly [now: string, midnight: string][] = [
  ['2026-07-01T12:00:00Z', '2026-07-02T07:00:00Z'],
  ['2026-07-01T06:59:59Z', '2026-07-01T07:00:00Z'],
  ['2026-07-01T07:00:00Z', '2026-07-02T07:00:00Z'],
  ['2026-12-31T12:00:00Z', '2027-01-01T08:00:00Z'],
  // Clocks go forward on 8 March 2026 and back on 1 November: the days have 23 and 25 hours.
  ['2026-03-08T08:00:00Z', '2026-03-09T07:00:00Z'],
  ['2026-03-08T07:59:59Z', '2026-03-08T08:00:00Z'],
  ['2026-11-01T07:00:00Z', '2026-11-02T08:00:00Z'],
  ['2026-10-31T12:00:00Z', '2026-11-01T07:00:00Z'],
];
for (const [now, midnight] of midnights) {
  test(`quotas that are used up at ${now} reset at ${midnight}`, (t) => {
    t.is(
      new Date(nextPacificMidnight(Date.parse(now))).toISOString(),
      midnight.replace('Z', '.000Z'),
    );
  });
}
