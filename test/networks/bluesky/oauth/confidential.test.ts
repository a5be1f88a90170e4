import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { clientMetadataRouter } from '../../../../api/connect/client-metadata.ts';
import { redirectUri as redirectUriOf } from '../../../../services/channels/oauth-context.ts';
import { credentialsOf } from '../../../../services/channels/grants.ts';
import { blueskyNetwork } from '../../../../networks/bluesky/adapter.ts';
import { openNetworks } from '../../../../networks/registry.ts';
import { createSealer } from '../../../../runtime/secrets.ts';
import { freePort } from '../../../../scripts/ports.ts';
import { blueskyAccount } from '../../../support/accounts.ts';
import { needs } from '../../../support/needs.ts';
import { authorizeAtPds } from '../../../support/pds-browser.ts';
import { openConnection } from '../../connection.ts';
import { beginning } from '../../oauth/context.ts';
import { partsOf, publish } from '../../publish.ts';
import { contextOf, oauthOfTests } from './bench.ts';

const test = needs('pds');

const sealer = createSealer('b2'.repeat(32));

/** Serves the client metadata of an installation. The tests' PDS reads its address from the loopback. */
async function installation(t: ExecutionContext) {
  const port = await freePort();
  const publicUrl = `https://punctual-${port}.example.com`;
  const app = new Koa();
  app.use(clientMetadataRouter({ publicUrl, sealer, networks: openNetworks({}) }).routes());
  const server = app.listen(port, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  const document = `http://127.0.0.1:${taken}/connect/bluesky/client-metadata.json`;
  return { publicUrl, document, redirectUri: redirectUriOf(publicUrl, 'bluesky') };
}

test('an https installation signs its requests, and its accounts stay connected for two years', async (t) => {
  const { publicUrl, redirectUri } = await installation(t);
  const person = await blueskyAccount();
  const { baseUrl, did: remoteId, handle } = person;
  const context = contextOf(t, { publicUrl, derive: sealer.derive });
  const oauth = oauthOfTests();
  const begun = await oauth.begin({
    ...beginning(context, { handle }),
    redirectUriFor: () => redirectUri,
  });
  const { searchParams: answer } = await authorizeAtPds(begun.url, person);
  const { kept } = begun;
  const { grant, accounts } = await oauth.finish({ ...context, answer, redirectUri, kept });

  const years = ((grant.endsAtMs ?? 0) - Date.now()) / (365 * 86_400_000);
  t.true(years > 1.99 && years <= 2, `${years} years`);

  const next = await oauth.refresh({ ...context, baseUrl, remoteId, grant });
  t.not(next.accessToken, grant.accessToken);
  const [account] = accounts;
  const credentials = credentialsOf(next);
  const connection = account && openConnection(t, { ...account, credentials });
  t.is(connection && (await publish(blueskyNetwork, connection, partsOf('Hi'))).sent.length, 1);
});

test('the client metadata of an installation has the public half of its key, and always the same', async (t) => {
  const [{ document, publicUrl, redirectUri }, other] = [
    await installation(t),
    await installation(t),
  ];
  const response = await fetch(document);
  t.regex(response.headers.get('content-type') ?? '', /^application\/json/);
  const metadata = (await response.json()) as { jwks: { keys: object[] } };
  t.like(metadata, {
    client_id: `${publicUrl}/connect/bluesky/client-metadata.json`,
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
  });
  const members = Object.keys(metadata.jwks.keys[0] ?? {}).toSorted();
  t.deepEqual(members, ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  const again = (await (await fetch(other.document)).json()) as typeof metadata;
  t.deepEqual(again.jwks, metadata.jwks);
});

test('an installation on the loopback serves no client metadata', async (t) => {
  const app = new Koa();
  const networks = openNetworks({});
  const publicUrl = 'http://127.0.0.1:3000';
  app.use(clientMetadataRouter({ publicUrl, sealer, networks }).routes());
  const server = app.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/connect/bluesky/client-metadata.json`);
  t.is(response.status, 404);
});
