import test from 'ava';
import { createEndpointLimits } from '../../activities/limits.ts';

/** Makes `count` other endpoints hang, at time 0. */
function othersHang(limits: ReturnType<typeof createEndpointLimits>, count: number): void {
  for (let number = 0; number < count; number += 1) {
    limits.enter(`other ${number}`, 0)?.('timeout', 0);
  }
}

test('an endpoint gets four requests at a time, and another one is not affected', (t) => {
  const limits = createEndpointLimits();
  const [leave, ...rest] = [1, 2, 3, 4].map(() => limits.enter('a', 0));
  t.true(rest.every((one) => one !== null));
  t.is(limits.enter('a', 0), null);
  t.not(limits.enter('b', 0), null);
  t.deepEqual(limits.load('a', 9000), { heldMs: 9000, hung: 0 });
  leave?.('answered', 9000);
  t.not(limits.enter('a', 9000), null);
  t.is(limits.enter('a', 9000), null);
});

test('an endpoint that is the only one to hang gets the next request as soon as one has ended', (t) => {
  const limits = createEndpointLimits();
  for (let count = 0; count < 8; count += 1) {
    const leave = limits.enter('a', 0);
    t.not(leave, null);
    leave?.('timeout', 0);
  }
});

test('the more endpoints hang, the longer each rests after a timeout: together they get two requests a second', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 100);
  for (let count = 0; count < 4; count += 1) {
    limits.enter('a', 0)?.('timeout', 0);
  }

  t.is(limits.enter('a', 0), null);
  t.is(limits.enter('a', 189_000), null); // 400 requests in 200 s, or 10 s for each.
  t.not(limits.enter('a', 194_000), null);
});

test('an endpoint that responds again has no rest, however many others hang', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 100);
  const slow = limits.enter('a', 0);
  for (let count = 0; count < 3; count += 1) {
    limits.enter('a', 0)?.('timeout', 0);
  }

  t.is(limits.enter('a', 0), null);
  slow?.('answered', 0);
  t.true([1, 2, 3, 4].every(() => limits.enter('a', 0) !== null));
});

test('a request that was not sent ends no rest', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 100);
  for (const end of ['timeout', 'timeout', 'timeout', 'unsent'] as const) {
    limits.enter('a', 0)?.(end, 0);
  }

  t.not(limits.enter('a', 0), null);
  t.is(limits.enter('a', 0), null);
});

test('endpoints stop counting as hanging half a minute after their rest', (t) => {
  const limits = createEndpointLimits();
  othersHang(limits, 3);
  t.is(limits.load('a', 29_000).hung, 3);
  t.is(limits.load('a', 31_000).hung, 0);
});
