import test from 'ava';
import { heldBytes, holdBytes } from '../../../networks/bluesky/blobs.ts';
import type { Connection } from '../../../networks/network.ts';

const megabyte = 1024 ** 2;
const newConnection = () => ({}) as Connection;

test('a link card’s image is still available for its upload after many images were shrunk', (t) => {
  const connection = newConnection();
  const image = { bytes: Buffer.alloc(2 * megabyte), canBeMadeAgain: true };
  const picture = { bytes: Buffer.alloc(megabyte, 1), canBeMadeAgain: false };
  for (let images = 0; images < 20; images += 1) {
    holdBytes(connection, `image ${images}`, image);
  }

  t.true(holdBytes(connection, 'picture', picture));
  for (let images = 0; images < 20; images += 1) {
    holdBytes(connection, `later image ${images}`, image);
  }

  t.is(heldBytes(connection, 'picture'), picture.bytes);
  t.is(heldBytes(newConnection(), 'picture'), undefined);
});

test('link card images have a memory limit too, and one beyond it is reported', (t) => {
  const connection = newConnection();
  const picture = { bytes: Buffer.alloc(megabyte), canBeMadeAgain: false };
  const kept = Array.from({ length: 40 }, (_, n) => holdBytes(connection, `${n}`, picture));
  t.is(kept.filter(Boolean).length, 32);
});
