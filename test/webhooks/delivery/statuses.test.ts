import test from 'ava';
import { status } from '../support/answers.ts';
import { sharedWorld } from '../support/shared-world.ts';

const world = sharedWorld(test);

test('each of these statuses is a delivery, and nothing is sent again', async (t) => {
  const { event, attempt, shown, receiver } = await world.subscribe();
  for (const [index, code] of [200, 201, 202, 204, 206, 299].entries()) {
    receiver.answer = status(code);
    const delivery = await event();

    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' }, String(code));
    t.deepEqual(await attempt(delivery), { kind: 'done', status: 'delivered' });

    t.is(receiver.arrived.length, index + 1);
    const { attempts, ...seen } = await shown(delivery);
    t.like(seen, {
      status: 'delivered',
      response_status: code,
      error: null,
      next_attempt_at: null,
    });
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: code, error: null });
    t.true((attempts[0]?.duration_ms ?? -1) >= 0);
  }
});

test('each of these statuses is a failure that says what came, and another attempt follows', async (t) => {
  const { event, attempt, shown, receiver } = await world.subscribe();
  const redirects = [300, 301, 302, 303, 304, 307, 308];
  const refusals = [400, 401, 403, 404, 410, 422, 429, 500, 502, 503, 504, 599];
  for (const code of [...redirects, ...refusals]) {
    receiver.answer = status(code);
    const delivery = await event();
    const error = redirects.includes(code) ? 'redirect' : 'http_error';

    t.like(await attempt(delivery), { kind: 'again', code: error }, String(code));

    const { attempts, ...seen } = await shown(delivery);
    t.like(seen, { status: 'pending', response_status: code, error });
    t.is(attempts.length, 1);
    t.like(attempts[0], { number: 1, response_status: code, error });
    t.true(Date.parse(seen.next_attempt_at ?? '') > Date.now());
  }
});
