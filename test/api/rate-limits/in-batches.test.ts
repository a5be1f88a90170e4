import test from 'ava';
import { inBatches } from '../../../api/rate-limits/in-batches.ts';

/** A run that ends when the test says so, and what it was called with. */
function controlled() {
  const runs: { key: string; size: number; end: (answer: string) => void; fail: () => void }[] = [];
  const ask = inBatches(
    (key, size) =>
      new Promise<string>((resolve, reject) => {
        runs.push({ key, size, end: resolve, fail: () => reject(new Error('away')) });
      }),
  );
  return { runs, ask };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('whoever comes during a run waits for the next, which is for all who wait', async (t) => {
  const { runs, ask } = controlled();
  const first = ask('a');
  const later = [ask('a'), ask('a'), ask('a')];
  await settled();
  t.deepEqual(
    runs.map(({ size }) => size),
    [1],
  );
  runs[0]?.end('old');
  t.deepEqual(await first, { result: 'old', place: 1, size: 1 });
  await settled();
  runs[1]?.end('new');
  t.deepEqual(
    await Promise.all(later),
    [1, 2, 3].map((place) => ({ result: 'new', place, size: 3 })),
  );
  t.is(runs.length, 2);
});

test('one key does not wait for another', async (t) => {
  const { runs, ask } = controlled();
  void ask('a');
  const b = ask('b');
  await settled();
  runs.find(({ key }) => key === 'b')?.end('answer');
  t.is((await b).result, 'answer');
});

test('a failure reaches all whose run it was, and the next run is a new try', async (t) => {
  const { runs, ask } = controlled();
  const failing = ask('a');
  const waiting = ask('a');
  await settled();
  runs[0]?.fail();
  await t.throwsAsync(failing, { message: 'away' });
  await settled();
  runs[1]?.end('back');
  t.is((await waiting).result, 'back');

  const afterwards = ask('a');
  await settled();
  runs[2]?.end('again');
  t.deepEqual(await afterwards, { result: 'again', place: 1, size: 1 });
});
