import test, { type ExecutionContext } from 'ava';
import type { Asked } from '../../oauth/scripted-server.ts';
import { ownServer, tokens } from './own-server.ts';

/** Secrets in requests, which no message may repeat. */
const secretsIn = (asked: readonly Asked[]): string[] =>
  asked.flatMap(({ form, headers: { dpop, authorization } }) =>
    [
      ...['code', 'code_verifier', 'refresh_token', 'client_assertion'].map((name) =>
        form.get(name),
      ),
      typeof dpop === 'string' ? dpop : null,
      authorization?.split(' ')[1] ?? null,
    ].filter((secret) => secret !== null),
  );

function holdsNoSecret(t: ExecutionContext, error: Error | undefined, asked: readonly Asked[]) {
  const secrets = secretsIn(asked);
  t.true(secrets.length > 3);
  for (const secret of secrets) {
    t.false(error?.message.includes(secret), error?.message);
    t.false(error?.message.includes(encodeURIComponent(secret)), error?.message);
  }
}

const wordsFor = {
  'the body of the request': ({ body }: Asked) => body,
  'its values': ({ form }: Asked) => [...form.values()].join(' '),
  'its values as JSON': ({ form }: Asked) => JSON.stringify([...form.values()]),
};

for (const [what, words] of Object.entries(wordsFor)) {
  test(`no message has a secret when a server repeats ${what}`, async (t) => {
    for (const error of ['invalid_grant', 'invalid_client', 'something_new']) {
      const server = await ownServer(t);
      const { grant } = await server.connect();
      server.answers.set('/token', (asked) => ({
        status: 400,
        json: { error, error_description: `No: ${words(asked)}` },
      }));
      holdsNoSecret(t, await t.throwsAsync(server.refresh(grant)), server.asked);
      holdsNoSecret(t, await t.throwsAsync(server.connect()), server.asked);
      server.answers.set('/par', server.answers.get('/token') ?? (() => ({ json: {} })));
      holdsNoSecret(t, await t.throwsAsync(server.connect()), server.asked);
    }
  });
}

test('a token that is invalid as a header value is refused', async (t) => {
  const server = await ownServer(t);
  const { grant } = await server.connect();
  for (const wrong of [
    { access_token: 'a\r\nx-evil: b' },
    { access_token: '' },
    { access_token: 'a'.repeat(30_000) },
    { refresh_token: 'a\nb' },
  ]) {
    server.answers.set('/token', () => ({ json: { ...tokens, ...wrong } }));
    t.like(await t.throwsAsync(server.connect()), { name: 'OauthError', code: 'unavailable' });
    t.like(await t.throwsAsync(server.refresh(grant)), { code: 'network_unavailable' });
  }
});

test('the server must ask the person for consent, even after a connection in another workspace', async (t) => {
  const server = await ownServer(t);
  await server.connect();
  const pushed = server.asked.find(({ path }) => path === '/par');
  t.is(pushed?.form.get('prompt'), 'consent');
});

test('a handle that the server claims is shown alone only if it resolves to the account', async (t) => {
  const server = await ownServer(t);
  const { host } = new URL(server.url);
  const shown = async () => (await server.connect()).accounts.map(({ handle }) => handle);
  t.deepEqual(await shown(), [`ana.example (${host})`]);
  server.answers.set('/xrpc/com.atproto.identity.resolveHandle', () => ({
    json: { did: tokens.sub },
  }));
  t.deepEqual(await shown(), ['ana.example']);
});
