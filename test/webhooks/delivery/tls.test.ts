import test, { type ExecutionContext } from 'ava';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { createAuthority, selfSigned } from '../../runtime/egress/support/certificates.ts';
import { dns, testEgress } from '../../runtime/egress/support/egress.ts';
import { tlsServer, type TestServer } from '../../runtime/egress/support/servers.ts';
import { readRequests, type Arrived } from '../support/read-requests.ts';
import { sharedWorld } from '../support/shared-world.ts';
import type { Subscribed } from '../support/world.ts';
import { isSignedWith } from '../../support/receiver.ts';
import { status } from '../support/answers.ts';

const world = sharedWorld(test);
const authority = createAuthority();
const name = 'hook.example.com';
const day = 86_400_000;

/** An endpoint at a server with TLS, and a way out that trusts our own authority. */
async function subscribeAt(
  t: ExecutionContext,
  { port }: TestServer,
): Promise<{ subscribed: Subscribed; deps: Partial<ActivityDeps> }> {
  const subscribed = await world.subscribe();
  const { webhookId, workspaceId } = subscribed;
  await world.punctual.orm.em
    .fork()
    .execute('update webhook_endpoints set url = ? where id = ? and workspace_id = ?', [
      `https://${name}:${port}/hook`,
      webhookId,
      workspaceId,
    ]);
  const resolve = dns({ [name]: ['127.0.0.1'] });
  const egress = testEgress(t, { ca: authority.ca, allow: `127.0.0.1/32:${port}`, resolve });
  return { subscribed, deps: { egress } };
}

test('an event arrives over TLS, signed, at a receiver with a good certificate', async (t) => {
  const arrived: Arrived[] = [];
  const server = await tlsServer(t, authority.issueFor([name]), (socket) =>
    readRequests(socket, (request) => {
      arrived.push(request);
      status(204)(socket, 1);
    }),
  );
  const { subscribed, deps } = await subscribeAt(t, server);

  const done = await subscribed.attempt(await subscribed.event(), deps);

  t.deepEqual(done, { kind: 'done', status: 'delivered' });
  t.is(arrived.length, 1);
  t.is(arrived[0]?.headers['host'], `${name}:${server.port}`);
  t.true(arrived[0] && (await isSignedWith(subscribed.secret, arrived[0])));
});

const untrusted = {
  'a certificate that has expired': () => ({
    ...authority.issueFor([name], { fromMs: Date.now() - 2 * day, untilMs: Date.now() - day }),
  }),
  'a certificate for another name': () => authority.issueFor(['other.example.com']),
  'a certificate of its own making': () => selfSigned(name),
  'a certificate of an authority that nobody knows': () => createAuthority().issueFor([name]),
  'TLS 1.0 alone': () => ({
    ...authority.issueFor([name]),
    minVersion: 'TLSv1' as const,
    maxVersion: 'TLSv1' as const,
    ciphers: 'DEFAULT@SECLEVEL=0',
  }),
};
for (const [what, options] of Object.entries(untrusted)) {
  test(`a receiver with ${what} gets no byte of an event: tls_error`, async (t) => {
    const received: unknown[] = [];
    const server = await tlsServer(t, options(), (socket) =>
      socket.on('data', (chunk) => received.push(chunk)),
    );
    const { subscribed, deps } = await subscribeAt(t, server);
    const { event, attempt, shown } = subscribed;
    const delivery = await event();

    t.like(await attempt(delivery, deps), { kind: 'again', code: 'tls_error' });

    t.like((await shown(delivery)).attempts[0], { response_status: null, error: 'tls_error' });
    t.deepEqual(received, []);
    t.true(server.connections > 0);
  });
}
