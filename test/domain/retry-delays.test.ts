import test from 'ava';
import { errorOfStatus } from '../../domain/delivery-error.ts';
import { deliveryWaitMs, publishWaitMs, publishWindowMs } from '../../domain/retry-delays.ts';

const minute = 60_000;
const hour = 60 * minute;

test('a channel has 5 tries in all, and a day', (t) => {
  const waits = [1, 2, 3, 4, 5, 6].map(publishWaitMs);
  t.deepEqual(waits, [30_000, 2 * minute, 10 * minute, 30 * minute, null, null]);
  t.is(publishWindowMs, 24 * hour);
});

test('a delivery has 6 attempts in all', (t) => {
  const waits = [1, 2, 3, 4, 5, 6, 7].map(deliveryWaitMs);
  t.deepEqual(waits, [minute, 5 * minute, 30 * minute, 2 * hour, 6 * hour, null, null]);
});

test('only 2xx is a delivery, and a redirect is told apart', (t) => {
  for (const status of [200, 201, 202, 204, 206, 299]) {
    t.is(errorOfStatus(status), null, String(status));
  }

  for (const status of [300, 301, 302, 303, 304, 307, 308, 399]) {
    t.is(errorOfStatus(status), 'redirect', String(status));
  }

  for (const status of [100, 199, 400, 404, 410, 429, 500, 503, 599]) {
    t.is(errorOfStatus(status), 'http_error', String(status));
  }
});
