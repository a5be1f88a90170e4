import { Client } from '@temporalio/client';
import { relayOnce } from '../../worker/relay.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { startApi } from '../support/punctual.ts';
import { testLog } from '../support/temporal.ts';

const test = needs('temporal');

test('a post can be edited and published while the relay waits for a slow Temporal', async (t) => {
  const punctual = await startApi(t, { networks: { fake: fakeNetwork() } });
  const { orm, deps, temporal } = punctual;
  const api = await newClient(punctual);
  const channel = await addFakeChannel(deps, api.workspaceId);
  const post = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 60 };
  const { id } = (await api.post('/posts', post)).body.post;
  await orm.em.fork().execute('update posts set revision = 2 where id = ?', [id]);
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const client = new Client({
    connection: temporal.connection,
    namespace: temporal.namespace,
    interceptors: {
      workflow: [
        {
          signalWithStart: async (input, next) => {
            asked.resolve();
            await answered.promise;
            return next(input);
          },
        },
      ],
    },
  });
  const relaying = relayOnce({ orm, client, log: testLog });
  await asked.promise;

  // What an edit and the start of publishing begin with. It throws when it would have to wait.
  await t.notThrowsAsync(
    orm.em.fork().execute('select id from posts where id = ? for update nowait', [id]),
  );

  answered.resolve();
  await relaying;
});
