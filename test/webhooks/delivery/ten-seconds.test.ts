import test, { type ExecutionContext } from 'ava';
import type { ActivityDeps } from '../../../activities/deps.ts';
import { testEgress } from '../../runtime/egress/support/egress.ts';
import { held, saying, type Answer } from '../support/answers.ts';
import { fullServer } from '../support/full-server.ts';
import { sharedWorld } from '../support/shared-world.ts';
import type { Subscribed } from '../support/world.ts';

// All of these wait side by side for the real ten seconds.
const world = sharedWorld(test);

const limitMs = 10_000;
/** A machine may be busy. */
const lateMs = 8000;

/** Says something each second for as long as the connection is there. */
const dripping =
  (head: string, drop: string): Answer =>
  (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(drop), 1000);
    socket.on('close', () => clearInterval(timer));
  };

async function mustTimeOut(
  t: ExecutionContext,
  { event, attempt, shown }: Subscribed,
  deps: Partial<ActivityDeps> = {},
): Promise<number> {
  const delivery = await event();
  t.like(await attempt(delivery, deps), { kind: 'again', code: 'timeout' });
  const { attempts } = await shown(delivery);
  t.is(attempts.length, 1);
  t.like(attempts[0], { number: 1, response_status: null, error: 'timeout' });
  const durationMs = attempts[0]?.duration_ms ?? 0;
  t.true(durationMs < limitMs + lateMs, `${durationMs} ms`);
  return durationMs;
}

const silent: Readonly<Record<string, Answer>> = {
  'says nothing': () => undefined,
  'drips headers': dripping('HTTP/1.1 200 OK\r\n', 'a: b\r\n'),
  'only announces an answer': dripping('', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
};
for (const [what, answer] of Object.entries(silent)) {
  test(`a receiver that takes the request and ${what} has ten seconds`, async (t) => {
    const durationMs = await mustTimeOut(t, await world.subscribe(answer));
    t.true(durationMs > limitMs - 50, `${durationMs} ms`);
  });
}

test('a receiver that never takes the connection has ten seconds at most', async (t) => {
  const port = await fullServer(t);
  const subscribed = await world.subscribe();
  const { webhookId, workspaceId } = subscribed;
  const url = `http://127.0.0.1:${port}/`;
  await world.punctual.orm.em
    .fork()
    .execute('update webhook_endpoints set url = ? where id = ? and workspace_id = ?', [
      url,
      webhookId,
      workspaceId,
    ]);
  await mustTimeOut(t, subscribed, { egress: testEgress(t, { allow: `127.0.0.1/32:${port}` }) });
});

const begun = (code: number): string => `HTTP/1.1 ${code} Said\r\ncontent-length: 100\r\n\r\n`;
const bodies: Readonly<Record<string, (code: number) => Answer>> = {
  'stalls in its body': (code) => saying(begun(code)),
  'sends a byte of its body each second': (code) => dripping(begun(code), '.'),
};
for (const [what, answer] of Object.entries(bodies)) {
  test(`a receiver that ${what} has answered: the status decides`, async (t) => {
    const { event, attempt, shown, receiver } = await world.subscribe();
    receiver.answer = (socket, n) => answer(n === 1 ? 200 : 500)(socket, n);
    const [good, bad] = [await event(), await event()];
    const first = attempt(good);
    await receiver.nth(1);

    t.like(await attempt(bad), { kind: 'again', code: 'http_error' });
    t.deepEqual(await first, { kind: 'done', status: 'delivered' });

    t.like((await shown(good)).attempts[0], { response_status: 200, error: null });
    t.like((await shown(bad)).attempts[0], { response_status: 500, error: 'http_error' });
  });
}

test('a receiver that was too slow is left: its connection is closed', async (t) => {
  const { answer, lost } = held();
  const { event, attempt, receiver } = await world.subscribe(answer);
  const closed = new Promise<void>((resolve) => {
    receiver.answer = (socket, n) => {
      socket.once('close', () => resolve());
      answer(socket, n);
    };
  });
  t.like(await attempt(await event()), { code: 'timeout' });
  await closed;
  t.is(lost(), 1);
});
