import test from 'ava';
import { attemptDelivery } from '../../activities/attempt-delivery/attempt-delivery.ts';
import { attempt } from '../support/attempt.ts';
import { newOperator } from '../support/operator.ts';
import { newClient, type Reply } from '../support/client.ts';
import { Contract } from '../support/contract.ts';
import { beforeTests } from '../support/kit.ts';
import { startApi } from '../support/punctual.ts';
import { pretendOauth } from '../support/pretend-oauth.ts';
import { rawCall } from '../support/raw-call.ts';
import { startReceiver } from '../support/receiver.ts';
import { setStatus } from '../support/seed.ts';
import { ca, fileServer } from './media/support/file-server.ts';
import { channels as channelCalls } from './openapi-answers/channels.ts';
import { madeTypes, makeEvents } from './openapi-answers/events.ts';
import { keys } from './openapi-answers/keys.ts';
import { media } from './openapi-answers/media.ts';
import { posts } from './openapi-answers/posts.ts';
import { filled, type RecordAnswer } from './openapi-answers/record-answer.ts';
import { failures, refusals, tooMany, whenFull, withoutPlan } from './openapi-answers/refusals.ts';
import { workspaces } from './openapi-answers/workspaces.ts';
import { webhooks } from './openapi-answers/webhooks.ts';
import { ownedBy, silentPort } from './owned.ts';

/** One API for this file, which may send webhooks to one receiver. The receiver fails its second request. */
const shared = beforeTests(test, async (scope) => {
  const receiver = await startReceiver(scope, (n) => (n === 2 ? 500 : 204));
  return { receiver, punctual: await startApi(scope, { allowPorts: [receiver.port] }) };
});

test('every documented response occurs, and each matches the document', async (t) => {
  // Its own API, because one of the responses needs a missing column.
  const oauth = { mastodon: pretendOauth().entry, x: pretendOauth({ missing: ['A'] }).entry };
  const files = await fileServer(t);
  const punctual = await startApi(t, {
    ca,
    allowPorts: [silentPort, files.port],
    connecting: { oauth, checks: {} },
  });
  const contract = await Contract.of(punctual.url);
  const seen = new Set<string>();
  const recordAnswer: RecordAnswer = (call, reply) => {
    const [method = '', path = ''] = call.split(' ');
    t.deepEqual(contract.answerFaults(path, method, reply), [], call);
    seen.add([call, reply.status, reply.body.code ?? ''].join(' ').trim());
  };
  const owned = await ownedBy(punctual);
  const { client } = owned;
  const operator = await newOperator(punctual);
  await posts(punctual, owned, recordAnswer);
  await setStatus(punctual, owned.scheduled, 'publishing', ['publishing']);
  recordAnswer('delete /posts/{id}', await client.delete(`/posts/${owned.scheduled}`));
  await media(punctual, owned, files, recordAnswer);
  await webhooks(owned, recordAnswer);
  await channelCalls(punctual, owned, recordAnswer);
  await keys(punctual, owned, contract, recordAnswer);
  await workspaces(operator, recordAnswer);
  for (const path of [
    '/me',
    '/usage',
    '/audit',
    '/analytics',
    '/analytics/channels',
    '/analytics/best-times',
  ]) {
    recordAnswer(`get ${path}`, await client.get(path));
  }

  recordAnswer(
    'get /analytics/{post_id}/history',
    await client.get(`/analytics/${owned.failed}/history`),
  );

  await refusals(punctual, { client, operator }, contract, recordAnswer);
  await withoutPlan(punctual, client, recordAnswer);
  await whenFull(punctual, client, recordAnswer);
  await tooMany(t, contract, recordAnswer);
  await failures(t, punctual, client, contract, recordAnswer);
  t.deepEqual([...seen].toSorted(), describedIn(contract).toSorted());
});

test('an unsupported method is answered as documented', async (t) => {
  const { url } = shared().punctual;
  const contract = await Contract.of(url);
  const component = ['components', 'responses', 'method_not_allowed'];
  for (const [path, item] of Object.entries(contract.document.paths)) {
    const described = Object.keys(item).map((method) => method.toUpperCase());
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const reply = await rawCall(`${url}/api/v1${filled(path)}`, { method });
      t.is(reply.status === 405, !described.includes(method), `${method} ${path}`);
      if (reply.status === 405) {
        t.deepEqual(contract.responseFaults(component, reply), []);
        const allow = reply.headers.get('allow')?.split(', ') ?? [];
        t.deepEqual(new Set(allow.filter((one) => one !== 'HEAD')), new Set(described));
      }
    }
  }
});

test('a response that differs from the document is detected', async (t) => {
  const { punctual } = shared();
  const contract = await Contract.of(punctual.url);
  const reply = await (await newClient(punctual)).get('/me');
  t.deepEqual(contract.answerFaults('/me', 'get', reply), []);

  const stray = (change: Partial<Reply>): string =>
    contract.answerFaults('/me', 'get', { ...reply, ...change }).join('\n');
  const headers = (change: Record<string, string>): Headers =>
    new Headers({ ...Object.fromEntries(reply.headers), ...change });
  t.regex(stray({ status: 299 }), /does not describe 299/v);
  t.regex(stray({ body: { ...reply.body, channels: 1.5 } }), /\/channels must be integer/v);
  t.regex(stray({ body: { ...reply.body, more: 1 } }), /additional properties/v);
  t.regex(
    stray({ headers: new Headers() }),
    /^X-Request-Id: [^\n]+\nRateLimit-Policy: [^\n]+\nRateLimit: [^\n]+\nContent-Type is null$/v,
  );
  t.regex(stray({ headers: headers({ 'x-request-id': '' }) }), /^X-Request-Id: /v);
  t.regex(stray({ headers: headers({ location: '/' }) }), /^Location is not described$/v);
  const error = { status: 401, body: { error: 'No.', code: 'not_found' } };
  t.regex(stray(error), /^RateLimit is not described$/mv);
  t.regex(stray(error), /^WWW-Authenticate: /mv);
  t.regex(stray(error), /\/code must be equal to one of the allowed values/v);
});

/** `method path status code` of every documented response. */
function describedIn(contract: Contract): string[] {
  return Object.entries(contract.document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.keys(responses).flatMap((status) => {
        const at = contract.follow(['paths', path, method, 'responses', status]);
        const schema = [...at, 'content', 'application/json', 'schema'];
        const codes = contract.at([...schema, 'allOf', '1', 'properties', 'code', 'enum']);
        return Array.isArray(codes)
          ? codes.map((code) => `${method} ${path} ${status} ${code}`)
          : [`${method} ${path} ${status}`];
      }),
    ),
  );
}

const probe = 'webhook.test';
const next = 'Service-Signature-Next';

test('every event is sent as documented', async (t) => {
  const { punctual, receiver } = shared();
  const client = await newClient(punctual);
  const contract = await Contract.of(punctual.url);
  const sent = Object.keys(contract.document.webhooks);
  const all = [...madeTypes, probe];
  t.deepEqual(sent.toSorted(), all.toSorted());
  const webhook = (await client.post('/webhooks', { url: receiver.url, events: sent })).body
    .webhook;

  const deliveryIds = await makeEvents(punctual, client);
  t.is(deliveryIds.length, sent.length - 1);
  for (const deliveryId of deliveryIds) {
    await attempt(attemptDelivery, punctual.deps, { workspaceId: client.workspaceId, deliveryId });
  }
  await client.post(`/webhooks/${webhook.id}/rotate`);
  await client.post(`/webhooks/${webhook.id}/test`);

  t.deepEqual(
    receiver.received.map(({ headers }) => headers['service-event-type']),
    all,
  );
  for (const { headers, body } of receiver.received) {
    const at = ['webhooks', String(headers['service-event-type']), 'post'];
    const schema = ['requestBody', 'content', String(headers['content-type']), 'schema'];
    t.deepEqual(contract.faults([...at, ...schema], JSON.parse(body)), []);
    const parameters = contract.at([...at, 'parameters']) as { name: string; required: boolean }[];
    t.deepEqual(
      parameters.flatMap(({ name, required }) => (required ? [] : [name])),
      [next],
    );
    // The new secret signs only after the rotation, which preceded the last request.
    const isRotating = headers['service-event-type'] === probe;
    t.is(next.toLowerCase() in headers, isRotating);
    t.deepEqual(
      parameters.map(({ name }) => name.toLowerCase()).toSorted(),
      [
        next.toLowerCase(),
        ...ours(headers).filter((name) => name !== next.toLowerCase()),
      ].toSorted(),
    );
    for (const [index, { name }] of parameters.entries()) {
      const described = [...at, 'parameters', String(index), 'schema'];
      if (name !== next || isRotating) {
        t.deepEqual(contract.faults(described, headers[name.toLowerCase()]), [], name);
      }
    }
  }

  const seen = await client.get(`/webhooks/${webhook.id}`);
  t.deepEqual(
    new Set(seen.body.deliveries.map((one: { status: string }) => one.status)),
    new Set(['delivered', 'pending']),
  );
  t.deepEqual(contract.answerFaults('/webhooks/{id}', 'get', seen), []);
});

/** Names of the headers about the event and its sender. */
const ours = (headers: object): string[] =>
  Object.keys(headers).filter((name) => /^(?:service-|webhook-|user-agent$)/v.test(name));
