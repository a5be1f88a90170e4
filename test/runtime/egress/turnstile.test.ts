import test from 'ava';
import { createTurnstile } from '../../../runtime/egress/turnstile.ts';

const signal = new AbortController().signal;

test('those who come late wait in line until someone leaves', async (t) => {
  const enter = createTurnstile(2);
  const order: string[] = [];
  const [leaveFirst, leaveSecond] = await Promise.all([enter('a', signal), enter('a', signal)]);
  const third = enter('a', signal).then((leave) => (order.push('third'), leave));
  const fourth = enter('a', signal).then((leave) => (order.push('fourth'), leave));

  await enter('b', signal);
  t.deepEqual(order, []);

  leaveFirst();
  leaveFirst();
  const leaveThird = await third;
  await new Promise(setImmediate);
  t.deepEqual(order, ['third']);

  leaveSecond();
  leaveThird();
  await fourth;
  t.deepEqual(order, ['third', 'fourth']);
});

test('who gives up waiting takes nobody’s turn', async (t) => {
  const enter = createTurnstile(1);
  const leave = await enter('a', signal);
  const impatient = new AbortController();
  const given = enter('a', impatient.signal);
  const patient = enter('a', signal);

  impatient.abort(new Error('enough'));
  await t.throwsAsync(given, { message: 'enough' });
  leave();
  await t.notThrowsAsync(patient);
});

test('who has given up before does not get in', async (t) => {
  await t.throwsAsync(createTurnstile(1)('a', AbortSignal.abort(new Error('enough'))), {
    message: 'enough',
  });
});
