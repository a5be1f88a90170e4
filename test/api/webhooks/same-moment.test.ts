import test, { type ExecutionContext } from 'ava';
import { newId } from '../../../db/new-id.ts';
import { recordEvent } from '../../../db/record-event.ts';
import { sharedApi } from '../../support/kit.ts';
import { storeDelivery } from '../../support/seed-deliveries.ts';
import { untilBlocked } from '../../support/until-blocked.ts';

// What happens to an endpoint in the moment of something else. One after the other, as each waits until somebody waits
// for a lock.

/** What DNS answers, when it does. */
let address: Promise<readonly string[]> = Promise.resolve(['93.184.216.34']);
let looked = Promise.withResolvers<void>();
const api = sharedApi(test, {
  outside: {
    connect: (_, done) => done(new Error('Nothing gets out.'), null),
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
  'an event of the moment in which an endpoint is deleted is stored, and goes to the others',
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
  'an event of the moment in which an endpoint is enabled is not missed: it is there for the replay that follows',
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

/** The service disables an endpoint while an edit of it looks up where its new URL leads. */
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

test.serial(
  'who enables an endpoint while the service disables it has an endpoint that is enabled',
  async (t) => {
    t.like(await disabledMeanwhile(t, { enabled: true }), {
      url: 'https://hook.example.com/new',
      enabled: true,
      disabled_reason: null,
      failing_since: null,
    });
  },
);

test.serial(
  'who only moves an endpoint while the service disables it is told that it is disabled',
  async (t) => {
    const { enabled, disabled_reason: reason } = await disabledMeanwhile(t, {});
    t.deepEqual([enabled, reason], [false, 'failing']);
  },
);

test.serial(
  'an endpoint that is deleted while an attempt begins is gone, and neither stops the other',
  async (t) => {
    const { client, id, path, workspaceId } = await endpoint();
    const delivery = await storeDelivery(api.punctual, workspaceId, 'pending');
    await fork().execute(
      'insert into endpoint_places (endpoint_id, place, workspace_id) values (?, 0, ?)',
      [id, workspaceId],
    );
    let deleted: Promise<{ readonly status: number }> | undefined;
    await fork().transactional(async (em) => {
      const place = 'select place from endpoint_places where endpoint_id = ? for update';
      await em.execute(place, [id]);
      deleted = client.delete(path);
      await blocked();
      await em.execute(
        `insert into delivery_attempts (id, workspace_id, delivery_id, number, created_at, duration_ms, under_way)
         values (?, ?, ?, 1, now(), 0, true)`,
        [newId(), workspaceId, delivery],
      );
    });

    t.is((await deleted)?.status, 200);
    t.is((await client.get(path)).status, 404);
  },
);
