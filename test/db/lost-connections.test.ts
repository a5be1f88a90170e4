import test, { type ExecutionContext } from 'ava';
import { createOrm, type Orm } from '../../db/orm.ts';
import { freshDatabase } from '../support/database.ts';
import { targetOf, tcpGate, throughGate, type TcpGate } from '../support/tcp-gate.ts';

type World = { readonly orm: Orm; readonly gate: TcpGate };

/** A pool of two connections that go by way of a gate. */
async function world(t: ExecutionContext, queryTimeoutMs = 20_000): Promise<World> {
  const { url } = await freshDatabase(t);
  const gate = await tcpGate(t, targetOf(url));
  const orm = createOrm(throughGate(url, gate), { poolSize: 2, queryTimeoutMs });
  t.teardown(() => orm.close());
  return { orm, gate };
}

/** Loses a connection in the middle of a transaction. */
const loseTransaction = ({ orm }: World, lose: () => unknown): Promise<unknown> =>
  orm.em.fork().transactional(async (em) => {
    await em.execute('select 1');
    await lose();
    await em.execute('select 2');
  });

async function mustServe(t: ExecutionContext, { orm }: World): Promise<void> {
  const answers = await Promise.all(
    [1, 2, 3, 4].map((n) =>
      orm.em.fork().transactional((em) => em.execute<{ n: number }[]>(`select ${n} as n`)),
    ),
  );
  t.deepEqual(answers.flat(), [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
}

test('a pool is whole again after more lost transactions than it has connections', async (t) => {
  const here = await world(t);
  for (let n = 0; n < 5; n += 1) {
    await t.throwsAsync(loseTransaction(here, here.gate.close));
    await here.gate.open();
  }

  await mustServe(t, here);
});

test('transactions that cannot even begin cost no connection', async (t) => {
  const here = await world(t);
  await mustServe(t, here);
  for (let n = 0; n < 5; n += 1) {
    const idle = here.gate.close();
    await t.throwsAsync(here.orm.em.fork().transactional(() => Promise.resolve()));
    await idle;
    await here.gate.open();
  }

  await mustServe(t, here);
});

test('connections over which no answer comes any more are replaced, in a transaction or not', async (t) => {
  const here = await world(t, 1000);
  await mustServe(t, here);
  here.gate.freeze();
  const silent = await Promise.allSettled([
    here.orm.em.fork().execute('select 1'),
    here.orm.em.fork().transactional((em) => em.execute('select 1')),
  ]);
  t.deepEqual(
    silent.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  await mustServe(t, here);

  for (let round = 0; round < 2; round += 1) {
    const lost = [1, 2].map(() => loseTransaction(here, here.gate.freeze));
    const ends = await Promise.allSettled(lost);
    t.true(ends.some(({ status }) => status === 'rejected'));
    await mustServe(t, here);
  }
});

test('a statement that takes too long is an error, and the pool goes on', async (t) => {
  const here = await world(t, 1000);
  const slow = (): Promise<unknown> => here.orm.em.fork().execute('select pg_sleep(5)');
  const begun = performance.now();
  for (let n = 0; n < 3; n += 1) {
    await t.throwsAsync(slow(), { message: /timeout/v });
  }

  t.true(performance.now() - begun < 12_000);
  await mustServe(t, here);
});
