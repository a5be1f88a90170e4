import test from 'ava';
import { connectBluesky } from '../../../networks/bluesky/connect.ts';
import { EgressError, type Egress, type EgressRequest } from '../../../runtime/egress/egress.ts';

const did = 'did:plc:bbbbbbbbbbbbbbbbbbbbbbbb';
const hostile = 'https://hostile.example';
const pds = 'https://pds.example';
const resolverUrl = 'https://resolver.example';

type Answers = Readonly<Record<string, (request: EgressRequest) => readonly [number, object]>>;

/** Egress on which only these addresses answer. */
function outside(answers: Answers): Egress & { readonly asked: string[] } {
  const asked: string[] = [];
  const request = async (given: EgressRequest) => {
    asked.push(given.url);
    const answer = answers[given.url.replace(/\?.*$/v, '')]?.(given);
    if (!answer) {
      throw new EgressError('connection_refused', 'Refused.', { maybeSent: false });
    }

    const [status, json] = answer;
    return { status, headers: {}, body: Buffer.from(JSON.stringify(json)), truncated: false };
  };
  return { asked, request, close: async () => undefined };
}

const didDoc = {
  id: did,
  service: [{ id: '#atproto_pds', type: 'AtprotoPersonalDataServer', serviceEndpoint: pds }],
};
const signIn = (handle: string, more: object = {}) => ({
  did,
  handle,
  accessJwt: 'token',
  ...more,
});
const createSession = '/xrpc/com.atproto.server.createSession';
const getSession = '/xrpc/com.atproto.server.getSession';
const resolveHandle = `${resolverUrl}/xrpc/com.atproto.identity.resolveHandle`;

const connect = (http: Egress, baseUrl: string) =>
  connectBluesky(http, { baseUrl, identifier: 'me', appPassword: 'any-password', resolverUrl });

test("a server's claim to an account of another server is refused", async (t) => {
  const claims = () => [200, signIn('taken-over.example', { didDoc })] as const;
  const refusals = {
    'the token is refused': () => [400, { error: 'InvalidToken', message: 'Bad token' }] as const,
    'the token is refused with 401': () => [401, { error: 'AuthMissing' }] as const,
    'the token is that of another account': () =>
      [200, { did: 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa', handle: 'attacker.test' }] as const,
  };
  for (const [why, answer] of Object.entries(refusals)) {
    const http = outside({ [hostile + createSession]: claims, [pds + getSession]: answer });
    const error = await t.throwsAsync(connect(http, hostile), { name: 'NetworkError' }, why);
    t.like(error, { code: 'access_lost', accepted: 'no' }, why);
    t.regex(error?.message ?? '', /pds\.example does not confirm/v, why);
  }
});

test("while the account's server does not answer, nothing is connected", async (t) => {
  const http = outside({ [hostile + createSession]: () => [200, signIn('a.test', { didDoc })] });
  await t.throwsAsync(connect(http, hostile), { code: 'network_unavailable' } as object);
});

test("an account's server confirms a provider that signs in for it", async (t) => {
  const http = outside({
    [hostile + createSession]: () => [200, signIn('claimed.example', { didDoc })],
    [pds + getSession]: ({ headers }) =>
      headers?.['authorization'] === 'Bearer token' ? [200, { did, handle: 'me.test' }] : [401, {}],
  });
  t.like(await connect(http, hostile), { baseUrl: pds, remoteId: did, handle: 'me.test' });
});

test('a handle that a server claims is shown alone only if it is verified', async (t) => {
  const cases = [
    ['famous.example', null, 'famous.example (pds.example)'],
    ['famous.example', 'did:plc:aaaaaaaaaaaaaaaaaaaaaaaa', 'famous.example (pds.example)'],
    ['mine.example', did, 'mine.example'],
    ['me.pds.example', null, 'me.pds.example'],
    ['pds.example', null, 'pds.example'],
    ['evilpds.example', null, 'evilpds.example (pds.example)'],
    ['famous.example  .test', null, 'famous.example  .test (pds.example)'],
  ] as const;
  for (const [handle, resolves, shown] of cases) {
    const http = outside({
      [pds + createSession]: () => [200, signIn(handle)],
      [resolveHandle]: () =>
        resolves === null ? [400, { error: 'InvalidRequest' }] : [200, { did: resolves }],
    });
    t.is((await connect(http, pds)).handle, shown);
  }
});
