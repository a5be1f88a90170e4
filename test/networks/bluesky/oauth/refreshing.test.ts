import { EgressError, type EgressRequest } from '../../../../runtime/egress/egress.ts';
import { needs } from '../../../support/needs.ts';
import { answering, connectedByOauth } from './bench.ts';

const test = needs('pds');

const asksForTokens = ({ method, url }: EgressRequest): boolean =>
  method === 'POST' && url.endsWith('/oauth/token');

test('a refresh gives a new token pair, and keeps the rest of the grant', async (t) => {
  const { grant, refresh } = await connectedByOauth(t);
  const next = await refresh(grant);

  t.not(next.accessToken, grant.accessToken);
  t.not(next.refreshToken, grant.refreshToken);
  t.deepEqual(next.data, grant.data);
  t.is(next.endsAtMs, grant.endsAtMs, 'a refresh does not extend the session');
  t.not((await refresh(next)).refreshToken, next.refreshToken);
});

test('a second use of a refresh token ends the session: access is lost, also for the newest token', async (t) => {
  const { grant, refresh } = await connectedByOauth(t);
  const next = await refresh(grant);

  for (const dead of [grant, next]) {
    const error = await t.throwsAsync(refresh(dead));
    t.like(error, { name: 'NetworkError', code: 'access_lost', accepted: 'no' });
    t.false(error?.message.includes(dead.refreshToken ?? ''));
  }
});

test('a refresh whose answer is lost requires a new connection only at the next refresh', async (t) => {
  const { grant, refresh, context } = await connectedByOauth(t);
  const { http } = context;
  const deaf = {
    ...http,
    request: async (request: EgressRequest) => {
      const response = await http.request(request);
      if (asksForTokens(request) && response.status === 200) {
        throw new EgressError('connection_reset', 'Broken.', { maybeSent: true });
      }

      return response;
    },
  };
  t.like(await t.throwsAsync(refresh(grant, { http: deaf })), { code: 'network_unavailable' });
  t.like(await t.throwsAsync(refresh(grant)), { code: 'access_lost' });
});

test('a refresh for a suspended account reports lost access', async (t) => {
  const { grant, refresh, person } = await connectedByOauth(t);
  await person.takeDown();

  t.like(await t.throwsAsync(refresh(grant)), { code: 'access_lost' });
});

test('a temporary failure of a server or the directory loses no access', async (t) => {
  const { grant, refresh, context } = await connectedByOauth(t);
  const places = [
    asksForTokens,
    ({ url }: EgressRequest) => url.includes('did%3Aplc'),
    ({ url }: EgressRequest) => url.includes('well-known'),
  ];
  const answers = [
    'nothing',
    { status: 500 },
    { status: 502 },
    { status: 503 },
    { status: 200, body: { no: 'token' } },
    { status: 404 },
    { status: 403, body: { error: 'Forbidden' } },
    { status: 400, body: { error: 'use_dpop_nonce' } },
    { status: 400, body: { error: 'invalid_request' } },
  ] as const;
  for (const place of places) {
    for (const answer of answers) {
      const http = answering(context.http, place, answer);
      const error = await t.throwsAsync(refresh(grant, { http }));
      t.like(error, { name: 'NetworkError', code: 'network_unavailable', accepted: 'no' });
    }
  }
  t.not((await refresh(grant)).accessToken, grant.accessToken);
});

test('too many refreshes are a rate limit', async (t) => {
  const { grant, refresh, context } = await connectedByOauth(t);
  const http = answering(context.http, asksForTokens, { status: 429 });

  const error = await t.throwsAsync(refresh(grant, { http }));
  t.like(error, { code: 'rate_limited', limit: 'server', accepted: 'no' });
});

test('a refused client registration is not lost access', async (t) => {
  const { grant, refresh, context } = await connectedByOauth(t);
  for (const error of ['invalid_client', 'invalid_client_metadata', 'unauthorized_client']) {
    const answer = { status: 400, body: { error, error_description: 'Not taken.' } };
    const http = answering(context.http, asksForTokens, answer);
    const thrown = await t.throwsAsync(refresh(grant, { http }));
    t.like(thrown, { name: 'NetworkError', code: 'internal' });
    t.regex(thrown?.message ?? '', /"Not taken\."/);
  }
});

test('an account that moved to another server has lost access', async (t) => {
  const { grant, refresh, context } = await connectedByOauth(t);
  const { http } = context;
  const issuer = 'https://elsewhere.example';
  const moved = {
    ...http,
    request: async (request: EgressRequest) => {
      const isAbout = (path: string) => request.url.endsWith(path);
      if (isAbout('oauth-protected-resource')) {
        const { origin: resource } = new URL(request.url);
        return documentOf({ resource, authorization_servers: [issuer] });
      }
      if (request.url.startsWith(issuer)) {
        const original = request.url.replace(issuer, String(Object(grant.data)['issuer']));
        const { body } = await http.request({ ...request, url: original });
        const { protected_resources: _, ...metadata } = JSON.parse(body.toString());
        return documentOf({ ...metadata, issuer });
      }

      return http.request(request);
    },
  };
  const error = await t.throwsAsync(refresh(grant, { http: moved }));
  t.like(error, { code: 'access_lost', accepted: 'no' });
  t.regex(error?.message ?? '', /moved/);
});

const documentOf = (body: object) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(body)),
  truncated: false,
});
