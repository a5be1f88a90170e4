import test from 'ava';
import { newClient, type Reply } from '../support/client.ts';
import { startApi } from '../support/punctual.ts';
import { everyRoute } from './every-route.ts';
import { rawCall } from '../support/raw-call.ts';

test('a path in another case or with a slash at its end is another path, and there is none', async (t) => {
  const punctual = await startApi(t);
  const { key } = await newClient(punctual);
  const call = (method: string, path: string): Promise<Reply> =>
    rawCall(punctual.url + path, { method, headers: { authorization: `Bearer ${key}` } });
  const calls = everyRoute(crypto.randomUUID());
  t.true(calls.length >= 15);
  for (const { method, path } of [...calls, { method: 'GET', path: '/api/v1/me' }]) {
    const others = [
      `${path}/`,
      path.replace('/api/v1', '/API/v1'),
      path.replace('/api/v1', '/api/V1'),
      path.replace(/(?<=v1\/)[a-z]+/v, (word) => word.toUpperCase()),
      path.replace('/api/v1', '/api/v1/'),
    ];
    for (const other of others.filter((one) => one !== path)) {
      const reply = await call(method, other);
      t.is(reply.status, 404, `${method} ${other}`);
      t.is(reply.body.code, 'not_found', other);
    }
  }

  t.is((await call('GET', '/api/v1/me')).status, 200);
});

test('a word that is a path of its own is no id to those who ask for it in another way', async (t) => {
  const { url } = await startApi(t);
  for (const method of ['GET', 'HEAD', 'PATCH', 'DELETE', 'PUT']) {
    const { status, headers } = await rawCall(`${url}/api/v1/posts/validate`, { method });
    t.is(status, 405, method);
    t.is(headers.get('allow'), 'POST', method);
  }

  const options = await rawCall(`${url}/api/v1/posts/validate`, { method: 'OPTIONS' });
  t.is(options.status, 200);
  t.is(options.headers.get('allow'), 'POST');
  t.is((await rawCall(`${url}/api/v1/posts/validate`, { method: 'POST' })).status, 401);
});
