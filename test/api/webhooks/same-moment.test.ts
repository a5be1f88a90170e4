import test, { type ExecutionContext } from 'ava';
import { newId } from '../../../db/new-id.ts';
import { recordEvent } from '../../../db/record-event.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';
import { untilBlocked } from '../../support/until-blocked.ts';

// Events at an endpoint during another change of it. In series, because each test waits until a query waits for a lock.

/** The DNS answer, once it is resolved. */
let address: Promise<readonly string[]> = Promise.resolve(['93.184.216.34']);
let looked = Promise.withResolvers<void>();
const api = sharedApi(test, {
  outside: {
    connectTo: () => (_, done) => done(new Error('Nothing gets out.'), null),
    resolve: () => {
      looked.resolve();
      return address;
    },
  },
});

async function endpoint() {
  const client = await api.newClient();
  const hook = { url: 'https://8.8.8.8/hook', events: ['post.failed'] };
  const { id } = (await client.post('/webhooks', hook)).body.webhook;
  return { client, id: String(id), path: `/webhooks/${id}`, workspaceId: client.workspaceId };
}

const fork = () => api.punctual.orm.em.fork();
const blocked = () => untilBlocked(api.punctual.orm);

test.serial(
  'an event during the deletion of an endpoint is stored, and sent to the others',
  async (t) => {
    const { client, id, workspaceId } = await endpoint();
    const hook = { url: 'https://8.8.8.8/other', events: ['post.failed'] };
    const other = (await client.post('/webhooks', hook)).body.webhook;
    let stored: Promise<readonly string[]> | undefined;
    await fork().transactional(async (em) => {
      await em.execute('delete from webhook_endpoints where id = ?', [id]);
      stored = fork().transactional((within) =>
        recordEvent(within, { workspaceId, type: 'post.failed', data: {} }),
      );
      await blocked();
    });

    t.is((await stored)?.length, 1);
    t.is((await client.get(`/webhooks/${other.id}`)).body.deliveries.length, 1);
  },
);

test.serial(
  'an event during the enabling of an endpoint is not lost: the next replay sends it',
  async (t) => {
    const { client, path, workspaceId } = await endpoint();
    await client.patch(path, { enabled: false });
    let replayed: Promise<number> | undefined;
    await fork().transactional(async (em) => {
      t.deepEqual(await recordEvent(em, { workspaceId, type: 'post.failed', data: {} }), []);
      replayed = client.patch(path, { enabled: true }).then(async () => {
        const reply = await client.post(`${path}/replay?since=2020-01-01T00:00:00Z`);
        return reply.body.replaying;
      });
      await Promise.race([blocked(), replayed]);
    });

    t.is(await replayed, 1);
  },
);

/** The service disables an endpoint while an edit resolves its new URL. */
async function disabledMeanwhile(t: ExecutionContext, edit: object) {
  const { client, path, id } = await endpoint();
  const answer = Promise.withResolvers<readonly string[]>();
  address = answer.promise;
  looked = Promise.withResolvers();
  const edited = client.patch(path, { url: 'https://hook.example.com/new', ...edit });
  await looked.promise;
  await fork().execute(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = 'failing',
       failing_since = now() - interval '5 days' where id = ?`,
    [id],
  );
  answer.resolve(['93.184.216.34']);
  const { status, body } = await edited;
  t.is(status, 200);
  t.deepEqual((await client.get(path)).body.webhook, body.webhook);
  return body.webhook;
}

test.serial('enabling an endpoint while the service disables it leaves it enabled', async (t) => {
  t.like(await disabledMeanwhile(t, { enabled: true }), {
    url: 'https://hook.example.com/new',
    enabled: true,
    disabled_reason: null,
    failing_since: null,
  });
});

test.serial(
  'the deletion of an endpoint and the record of an attempt do not block each other',
  async (t) => {
    const { client, path, workspaceId } = await endpoint();
    const delivery = await storeDelivery(api.punctual, workspaceId, 'pending');
    let deleted: Promise<{ readonly status: number }> | undefined;
    await fork().transactional(async (em) => {
      await em.execute('select from deliveries where id = ? for update', [delivery]);
      deleted = client.delete(path);
      await blocked();
      await em.execute(
        `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms)
         values (?, ?, ?, 1, now(), 0)`,
        [newId(), workspaceId, delivery],
      );
    });

    t.is((await deleted)?.status, 200);
    t.is((await client.get(path)).status, 404);
  },
);
