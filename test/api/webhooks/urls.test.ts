import test, { type ExecutionContext } from 'ava';
import { attemptDelivery } from '../../../activities/attempt-delivery/attempt-delivery.ts';
import { createResolver, type Resolve } from '../../../runtime/egress/destination.ts';
import { dnsServer } from '../../runtime/egress/support/dns-server.ts';
import { recordingConnector } from '../../runtime/egress/support/egress.ts';
import {
  acceptedUrls,
  normalForms,
  otherUrls,
  ownUrl,
  ownUrls,
  privateAnswers,
  refusedUrls,
} from '../../runtime/egress/support/urls.ts';
import { attempt as attemptOnce } from '../../support/attempt.ts';
import { sharedApi } from '../../support/kit.ts';
import { startReceiver } from '../../support/receiver.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';
import { storedRows } from '../../support/stored-rows.ts';

const events = ['post.failed'];
const good = 'https://8.8.8.8/hook';

/** Names that DNS was asked for. */
const asked: string[] = [];
const anyPublic: Resolve = async () => ['93.184.216.34'];
let resolve = anyPublic;
/** Records the addresses instead of connecting. */
const { dialled, connectTo } = recordingConnector();

// Reached at `ownUrl`. DNS and connections belong to the current test, so the tests run in series.
const api = sharedApi(test, {
  publicUrl: ownUrl,
  outside: {
    connectTo,
    resolve: async (host: string) => {
      asked.push(host);
      return resolve(host);
    },
  },
});

type Endpoint = Awaited<ReturnType<typeof endpoint>>;

/** An endpoint with a valid URL, before any lookup or connection. @param names The DNS answers. */
async function endpoint(names = anyPublic) {
  const { punctual } = api;
  const client = await api.newClient();
  const { workspaceId } = client;
  const { id } = (await client.post('/webhooks', { url: good, events })).body.webhook;
  resolve = names;
  asked.length = 0;
  dialled.length = 0;
  const execute = <T = unknown>(sql: string, values: unknown[]): Promise<T[]> =>
    punctual.orm.em.fork().execute<T[]>(sql, values);
  return {
    client,
    path: `/webhooks/${id}`,
    /** Changes the URL in the database, without the API's checks. */
    write: (url: string) => execute('update webhook_endpoints set url = ? where id = ?', [url, id]),
    store: () => storeDelivery(punctual, workspaceId, 'pending'),
    /** Makes one attempt. @returns its recorded error and status. */
    attempt: async (deliveryId: string) => {
      await attemptOnce(attemptDelivery, punctual.deps, { workspaceId, deliveryId });
      const [recorded] = await execute<{ error: string | null; response_status: number | null }>(
        'select error, response_status from delivery_attempts where delivery_id = ? order by number desc limit 1',
        [deliveryId],
      );
      return recorded;
    },
    /** Makes the next attempts due. */
    wait: () => execute('update deliveries set next_attempt_at = null where endpoint_id = ?', [id]),
  };
}

/** Registers an endpoint with this URL, and edits another endpoint to it. @returns both responses. */
async function bothWays({ client, path }: Endpoint, url: string) {
  return [await client.post('/webhooks', { url, events }), await client.patch(path, { url })];
}

test.serial('none of R01 to R56 can be registered or set in an edit', async (t) => {
  const it = await endpoint();
  const urls = [...Object.values(refusedUrls).flat(), ...ownUrls];
  for (const url of urls) {
    for (const { status, body } of await bothWays(it, url)) {
      t.is(status, 400, url);
      t.is(body.code, 'invalid_webhook_url', url);
      t.regex(body.error, /^[A-Z].+\.$/v, url);
      t.deepEqual(body.details, [{ path: '/url', message: body.error }], url);
    }
  }

  t.is((await it.client.get(it.path)).body.webhook.url, good);
  t.is((await storedRows(api.punctual.orm, it.client.workspaceId))['webhook_endpoints'], 1);
  t.deepEqual([asked, dialled], [[], []]);
});

test.serial('the refusal of the own host of the service gives that reason', async (t) => {
  const { client } = await endpoint();
  const { body } = await client.post('/webhooks', { url: ownUrls[0], events });

  t.is(body.error, 'The URL leads to this service itself.');
});

test.serial(
  'all of A01 to A19 can be registered and set in an edit, and are shown in their normal form',
  async (t) => {
    const it = await endpoint();
    const { client, path } = it;
    const urls = [...Object.values(acceptedUrls).flat(), ...otherUrls];
    for (const url of urls) {
      const [created, changed] = await bothWays(it, url);
      t.is(created?.status, 201, url);
      t.is(changed?.status, 200, url);
      t.is((await client.get(path)).body.webhook.url, created?.body.webhook.url);
      await client.delete(`/webhooks/${created?.body.webhook.id}`);
    }

    for (const [typed, kept] of Object.values(normalForms).flatMap(Object.entries)) {
      for (const { body } of await bothWays(it, typed)) {
        t.is(body.webhook.url, kept, typed);
      }
      const { webhooks } = (await client.get('/webhooks')).body;
      t.is(webhooks.at(-1).url, kept);
      await client.delete(`/webhooks/${webhooks.at(-1).id}`);
    }
    t.deepEqual(dialled, []);
  },
);

test.serial(
  'R60 to R69: a name that resolves to a private address is refused at once',
  async (t) => {
    const many = Array.from({ length: 65 }, (_, index) => `93.184.216.${index}`);
    const answers: Readonly<Record<string, readonly string[]>> = { ...privateAnswers, R69: many };
    const it = await endpoint(
      async (host) => answers[host.split('.')[0]?.toUpperCase() ?? ''] ?? [],
    );
    for (const id of Object.keys(answers)) {
      for (const { status, body } of await bothWays(it, `https://${id}.example.com/`)) {
        t.is(status, 400, id);
        t.is(body.code, 'invalid_webhook_url', id);
      }
    }

    t.is((await it.client.get(it.path)).body.webhook.url, good);
    t.is(asked.length, 2 * Object.keys(answers).length);
    t.deepEqual(dialled, []);
  },
);

test.serial('A18, A19: a name with only IPv6, and an unknown one, are accepted', async (t) => {
  const it = await endpoint(async (host) => {
    if (host === 'broken.example.com') {
      throw new Error('SERVFAIL');
    }

    return host === 'six.example.com' ? ['2606:4700:4700::1111'] : [];
  });
  for (const name of ['six', 'later', 'broken']) {
    const [created, changed] = await bothWays(it, `https://${name}.example.com/`);
    t.is(created?.status, 201, name);
    t.is(changed?.status, 200, name);
  }
});

test.serial(
  'R61, R70: a name that was public at its registration is checked again at every attempt',
  async (t) => {
    let address = '93.184.216.34';
    const server = await dnsServer(t, ({ type }) => (type === 'A' ? [address] : []));
    const resolver = createResolver({ servers: [server], timeoutMs: 60_000 });
    const { client, path, store, attempt, wait } = await endpoint(resolver);
    t.is((await client.patch(path, { url: 'https://hook.example.com/' })).status, 200);
    const delivery = await store();
    const errors: unknown[] = [];
    for (const next of ['127.0.0.1', '93.184.216.34', '10.0.0.5', '93.184.216.34']) {
      address = next;
      errors.push((await attempt(delivery))?.error);
      await wait();
    }

    const [blocked, refused] = ['blocked_destination', 'connection_refused'];
    t.deepEqual(errors, [blocked, refused, blocked, refused]);
    t.deepEqual(dialled, ['93.184.216.34', '93.184.216.34']);
  },
);

test.serial(
  'a response reveals nothing about the private network: open and closed ports and names look the same',
  async (t) => {
    const inside = await startReceiver(t);
    const it = await endpoint(async (host) =>
      host === 'db.example.com' ? ['10.0.0.5'] : ['127.0.0.1'],
    );
    const urls = [
      `https://127.0.0.1:${inside.port}/`,
      `http://127.0.0.1:${inside.port}/`,
      'https://127.0.0.1:9/',
      'https://10.255.255.1/',
      `https://open.example.com:${inside.port}/`,
      'https://db.example.com/',
    ];
    const answers = new Set<string>();
    for (const url of urls) {
      await it.write(url);
      answers.add(await withoutItsOwn(t, it));
    }

    t.is(answers.size, 1, [...answers].join('\n'));
    t.deepEqual(dialled, []);
  },
);

/** The response of a test call, without the fields that differ between deliveries. */
async function withoutItsOwn(t: ExecutionContext, { client, path }: Endpoint) {
  const { status, body } = await client.post(`${path}/test`);
  t.is(status, 200);
  const { id: _, event_id: __, created_at: ___, attempts, ...rest } = body.delivery;
  t.is(attempts.length, 1);
  return JSON.stringify({ ...rest, code: attempts[0].error });
}
