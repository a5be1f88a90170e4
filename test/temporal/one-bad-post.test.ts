import { Client, ServiceError } from '@temporalio/client';
import { relayOnce } from '../../worker/relay.ts';
import { postWorkflowId } from '../../workflows/messages.ts';
import { newClient } from '../support/client.ts';
import { addFakeChannel } from '../support/seed.ts';
import { fakeNetwork } from '../support/networks.ts';
import { needs } from '../support/needs.ts';
import { poll } from '../support/poll.ts';
import { startApi } from '../support/punctual.ts';
import { testLog } from '../support/temporal.ts';

const test = needs('temporal');

test('a post that Temporal does not take holds up no other', async (t) => {
  const punctual = await startApi(t, { networks: { fake: fakeNetwork() } });
  const { orm, deps, temporal } = punctual;
  const api = await newClient(punctual);
  const channel = await addFakeChannel(deps, api.workspaceId);
  const schedule = async (): Promise<string> => {
    const post = { body: 'Hello', channel_ids: [channel], schedule_in_minutes: 60 };
    return (await api.post('/posts', post)).body.post.id;
  };
  const [bad, good] = [await schedule(), await schedule()];
  await orm.em.execute('update posts set revision = 2'); // So that the relay has to tell of both.
  const client = new Client({
    connection: temporal.connection,
    namespace: temporal.namespace,
    interceptors: {
      workflow: [
        {
          signalWithStart: (input, next) => {
            if (input.options.workflowId === postWorkflowId(bad)) {
              throw new ServiceError('Not this one.');
            }

            return next(input);
          },
        },
      ],
    },
  });

  let told = 0;
  await poll(
    // Once is enough, unless this machine is so busy that Temporal does not answer in time.
    async () => (told += await relayOnce({ orm, client, log: testLog })),
    (count) => count > 0,
  );
  t.is(told, 1);

  const rows = await orm.em.execute<{ id: string }[]>(
    'select id from posts where synced_revision < revision',
  );
  t.deepEqual(rows, [{ id: bad }]);
  t.is((await client.workflow.getHandle(postWorkflowId(good)).describe()).status.name, 'RUNNING');
});
