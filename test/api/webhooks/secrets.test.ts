import type { ExecutionContext } from 'ava';
import { recordEvent } from '../../../db/record-event.ts';
import { deliveryWorkflowId, webhooksQueue } from '../../../workflows/messages.ts';
import { clientFor, newClient, type Client, type Reply } from '../../support/client.ts';
import { needs } from '../../support/needs.ts';
import { poll } from '../../support/poll.ts';
import { startApi, type Punctual } from '../../support/punctual.ts';
import { startReceiver, type Receiver } from '../../support/receiver.ts';
import { spawnWorker } from '../../support/worker-process.ts';
import { startReadyApi } from '../../support/api-process.ts';

const test = needs('temporal');

const text = 'a text that is nobody’s business';
const password = 'pa55word-of-mine';
const inUrl = 'token-in-the-url';

/** An API and a worker as operators run them, with their logs; an endpoint whose receiver fails at first. */
async function startProcesses(t: ExecutionContext) {
  const receiver = await startReceiver(t, (n) => (n === 2 ? 500 : 204));
  const punctual = await startApi(t);
  const { workspaceId, key } = await newClient(punctual);
  const api = await startReadyApi(t, {
    ...punctual.temporalEnv,
    DATABASE_URL: punctual.databaseUrl,
    SECRET_KEY: punctual.secretKey,
    PUNCTUAL_EGRESS_ALLOW_WEBHOOKS: `127.0.0.1/32:${receiver.port}`,
    LOG_LEVEL: 'trace',
  });
  let workerLog = '';
  const { child, logged } = spawnWorker(t, punctual, [receiver.port]);
  child.stdout?.on('data', (chunk) => {
    workerLog += String(chunk);
  });
  await logged('polling');
  const client = clientFor(api.url, workspaceId, key);
  return { receiver, punctual, client, logs: () => `${api.log()}\n${workerLog}` };
}

test('no secret, signature, password or text of an event is in a log, in Temporal, or in a response, except the one that created it', async (t) => {
  const { receiver, punctual, client, logs } = await startProcesses(t);
  const url = `${receiver.url}?t=${inUrl}`;
  const { webhook } = (await client.post('/webhooks', { url, events: ['post.failed'] })).body;
  const path = `/webhooks/${webhook.id}`;
  const rotated = (await client.post(`${path}/rotate`)).body.webhook.secret;
  const refused = await refuse(client, path);
  const tested = await client.post(`${path}/test`);
  const told = [await deliver(punctual, client), await deliver(punctual, client)];
  const inTemporal = await Promise.all(told.map((id) => settled(punctual, id)));
  t.is(receiver.received.length, 3); // Before any replay.
  const answers = [tested, ...(await everyAnswer(client, path))];

  const secrets = [webhook.secret, rotated].flatMap(spellings);
  const hidden = [...secrets, ...signaturesIn(receiver), client.key, password, text];
  t.true(hidden.length >= 20);
  t.deepEqual(found(logs(), [...hidden, inUrl]), []);
  t.true(logs().includes('polling') && logs().includes('listening'));
  for (const history of inTemporal) {
    t.true(history.includes(client.workspaceId));
    t.deepEqual(found(history, [...hidden, inUrl]), []);
  }
  for (const { body } of answers) {
    t.deepEqual(found(JSON.stringify(body), hidden), []);
  }
  for (const { status, body } of refused) {
    t.is(status, 400);
    t.deepEqual(found(JSON.stringify(body), [password]), []);
  }
});

const found = (where: string, hidden: readonly string[]): string[] =>
  hidden.filter((one) => where.includes(one));

/** Possible forms of a secret: unchanged, without its prefix, in Base64, and as its key bytes. */
const spellings = (secret: string): string[] => {
  const letters = secret.slice('whsec_'.length);
  return [
    letters,
    letters.slice(0, 28), // The last four are the hint.
    Buffer.from(secret).toString('base64url'),
    Buffer.from(secret).toString('hex'),
    Buffer.from(letters, 'base64').toString('hex'),
  ];
};

const signaturesIn = ({ received }: Receiver): string[] =>
  received.flatMap(({ headers }) => [
    String(headers['service-signature']).replace('sha256=', ''),
    String(headers['service-signature-next']).replace('sha256=', ''),
    ...String(headers['webhook-signature'])
      .split(' ')
      .map((one) => one.replace('v1,', '')),
  ]);

/** URLs with a password, in a registration and in an edit. */
async function refuse(client: Client, path: string): Promise<Reply[]> {
  const url = `https://somebody:${password}@example.com/`;
  return [
    await client.post('/webhooks', { url, events: ['post.failed'] }),
    await client.patch(path, { url }),
  ];
}

/** Every call that reads or changes an endpoint. */
async function everyAnswer(client: Client, path: string): Promise<Reply[]> {
  const answers = [
    await client.get('/webhooks'),
    await client.get(path),
    await client.get(`${path}/deliveries`),
    await client.patch(path, { description: 'Ours' }),
  ];
  const { deliveries } = answers[2]?.body ?? { deliveries: [] };
  const ended = deliveries.find((one: { status: string }) => one.status === 'delivered');
  return [
    ...answers,
    await client.post(`${path}/deliveries/${ended?.id}/replay`),
    await client.post(`${path}/replay?since=2020-01-01T00:00:00Z`),
    await client.delete(path),
  ];
}

/** Delivers an event with a workflow, as the end of a post does. @returns the workflow's id. */
async function deliver(punctual: Punctual, { workspaceId }: Client): Promise<string> {
  const event = {
    workspaceId,
    type: 'post.failed',
    data: { post: { body: text } },
  } as const;
  const [deliveryId = ''] = await punctual.orm.em
    .fork()
    .transactional((em) => recordEvent(em, event));
  const workflowId = deliveryWorkflowId(deliveryId);
  await punctual.temporal.client.workflow.start('deliverWebhook', {
    workflowId,
    taskQueue: webhooksQueue,
    args: [{ workspaceId, deliveryId }],
  });
  return workflowId;
}

/** The history of a workflow that has ended or waits for its next attempt, with decoded payloads. */
async function settled({ temporal }: Punctual, workflowId: string): Promise<string> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const { raw } = await poll(
    () => handle.describe(),
    ({ status, raw: { pendingActivities } }) =>
      status.name !== 'RUNNING' || Boolean(pendingActivities?.[0]?.lastFailure),
  );
  const whole = JSON.stringify([raw, await handle.fetchHistory()]);
  const plain = [...whole.matchAll(/"(?<data>[A-Za-z0-9+\/]{8,}={0,2})"/gv)].map(({ groups }) =>
    Buffer.from(groups?.['data'] ?? '', 'base64').toString('utf8'),
  );
  return [whole, ...plain].join('\n');
}
