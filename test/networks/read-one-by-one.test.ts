import test from 'ava';
import { readingOf } from '../../networks/metrics.ts';
import { NetworkError } from '../../networks/network.ts';
import { readOneByOne } from '../../networks/read-one-by-one.ts';

const reading = readingOf({ likes: 1 });
const away = new NetworkError('network_unavailable', 'Away.', { taken: 'no' });

test('what a slow server told in time is kept, and the others are left for the next read', async (t) => {
  const asked: string[] = [];
  const readOne = async (id: string) => {
    asked.push(id);
    return reading;
  };
  t.deepEqual([...(await readOneByOne(['a', 'b', 'c'], readOne, 0)).keys()], ['a']);
  t.deepEqual(asked, ['a'], 'one is read however slow it is, so that reading goes on');
  t.is((await readOneByOne(['a', 'b', 'c'], readOne)).size, 3);
});

test('a failure ends reading: it is told when nothing was read, and a fault of our own always', async (t) => {
  const failing = (failure: Error, at: string) => async (id: string) => {
    if (id === at) {
      throw failure;
    }
    return id === 'silent' ? null : reading;
  };
  t.deepEqual([...(await readOneByOne(['a', 'b', 'c'], failing(away, 'b'))).keys()], ['a']);
  await t.throwsAsync(readOneByOne(['silent', 'b'], failing(away, 'b')), { is: away });
  const fault = new TypeError('Ours');
  await t.throwsAsync(readOneByOne(['a', 'b'], failing(fault, 'b')), { is: fault });
});
