import test, { type ExecutionContext } from 'ava';
import { newClient, type Reply } from '../../support/client.ts';
import { startApi, type ApiOptions } from '../../support/punctual.ts';
import { rawCall } from '../../support/raw-call.ts';

/** An API that takes two wrong keys a minute, and calls from addresses that a proxy names. */
async function world(t: ExecutionContext, options: ApiOptions = {}) {
  const punctual = await startApi(t, { rateLimits: { wrongKeys: 2 }, ...options });
  const { key } = await newClient(punctual);
  const call = (authorization: string, forwardedFor?: string): Promise<Reply> =>
    rawCall(`${punctual.url}/api/v1/me`, {
      headers: {
        authorization,
        ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
      },
    });
  let guesses = 0;
  const guess = async (forwardedFor?: string): Promise<number> => {
    guesses += 1;
    return (await call(`Bearer svc_live_${guesses}`, forwardedFor)).status;
  };
  return { punctual, right: `Bearer ${key}`, call, guess };
}

test('guesses from one address are refused after a few, and a right key from there is not', async (t) => {
  const { call, guess, right } = await world(t);
  t.deepEqual([await guess(), await guess(), await guess(), await guess()], [401, 401, 429, 429]);
  t.is((await call(right)).status, 200);

  const reply = await call('Bearer svc_live_once_more');
  t.is(reply.body.code, 'rate_limited');
  const seconds = Number(reply.headers.get('retry-after'));
  t.true(seconds >= 1 && seconds <= 60);
  t.is(reply.headers.get('ratelimit-policy'), '"wrong-keys";q=2;w=60');
  t.is(reply.headers.get('ratelimit'), `"wrong-keys";r=0;t=${seconds}`);
  t.false(JSON.stringify(reply.body).includes('127.0.0.1'));
});

test('a call without a key guesses nothing', async (t) => {
  const { call } = await world(t);
  for (const authorization of ['', '', '', 'Bearer', 'Basic YTpi']) {
    t.is((await call(authorization)).status, 401);
  }
});

test('nobody gets around it by naming another address', async (t) => {
  const { guess } = await world(t);
  const answers = [await guess('192.0.2.1'), await guess('192.0.2.2'), await guess('192.0.2.3')];
  t.deepEqual(answers, [401, 401, 429]);
});

test('behind a trusted proxy each of its clients counts for itself, by what the proxy says', async (t) => {
  const { guess } = await world(t, { trustedProxies: 1 });
  const spoofed = (n: number): string => `198.51.100.${n}, 192.0.2.1`;
  t.deepEqual(
    [await guess(spoofed(1)), await guess(spoofed(2)), await guess(spoofed(3))],
    [401, 401, 429],
  );
  t.is(await guess('192.0.2.2'), 401);
  t.is(await guess(), 401); // From the proxy itself.
});

test('behind two proxies the first that is trusted says whom it forwards for', async (t) => {
  const { guess } = await world(t, { trustedProxies: 2 });
  const from = (client: string): string => `203.0.113.9, ${client}, 10.0.0.1`;
  t.deepEqual(
    [
      await guess(from('192.0.2.1')),
      await guess(from('192.0.2.1')),
      await guess(from('192.0.2.1')),
      await guess(from('192.0.2.2')),
    ],
    [401, 401, 429, 401],
  );
});

test('the counters name addresses, networks of IPv6, and no key', async (t) => {
  const { punctual, guess } = await world(t, { trustedProxies: 1 });
  await guess('2001:db8:1:2::1');
  await guess('2001:db8:1:2:ffff::9');
  await guess('192.0.2.7');
  await guess(`'; drop table rate_limits --`);
  const rows = await punctual.orm.em
    .fork()
    .execute('select key, points from rate_limits order by key');
  t.deepEqual(rows, [
    { key: 'wrong-keys:192.0.2.7', points: 1 },
    { key: 'wrong-keys:20010db800010002/64', points: 2 },
    { key: 'wrong-keys:unknown', points: 1 },
  ]);
});
