import test from 'ava';
import { newClient, type Reply } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { Contract } from '../support/contract.ts';
import { filled, type Look } from './openapi-answers/look.ts';
import { media } from './openapi-answers/media.ts';
import { posts } from './openapi-answers/posts.ts';
import { failures, refusals, tooMany, withoutPlan } from './openapi-answers/refusals.ts';
import { webhooks } from './openapi-answers/webhooks.ts';
import { ownedBy, silentPort } from './owned.ts';
import { rawCall } from '../support/raw-call.ts';

test('every answer that the document describes occurs, and each is as described', async (t) => {
  const punctual = await startApi(t, { allowPorts: [silentPort] });
  const contract = await Contract.of(punctual.url);
  const seen = new Set<string>();
  const look: Look = (call, reply) => {
    const [method = '', path = ''] = call.split(' ');
    t.deepEqual(contract.answerFaults(path, method, reply), [], call);
    seen.add([call, reply.status, reply.body.code ?? ''].join(' ').trim());
  };
  const owned = await ownedBy(punctual);
  const { client } = owned;
  await posts(owned, look);
  await media(punctual, owned, look);
  await webhooks(owned, look);
  for (const path of ['/me', '/channels', '/analytics']) {
    look(`get ${path}`, await client.get(path));
  }

  await refusals(punctual, client, contract, look);
  await withoutPlan(punctual, client, look);
  await tooMany(t, contract, look);
  await failures(t, punctual, client, contract, look);
  t.deepEqual([...seen].toSorted(), describedIn(contract).toSorted());
});

test('a method that a path does not take is answered as described', async (t) => {
  const { url } = await startApi(t);
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

test('an answer that strays from the document is noticed', async (t) => {
  const punctual = await startApi(t);
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

/** `method path status code` of everything that the calls can answer. */
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
