import test from 'ava';
import { NetworkError } from '../../networks/network.ts';
import { beforeTests } from '../support/before-tests.ts';
import { clockedChannel } from '../support/claimed-posts.ts';
import { freshDatabase } from '../support/database.ts';
import { fakeNetwork, liveTexts } from '../support/networks.ts';

const minute = 60_000;
const database = beforeTests(test, freshDatabase);

test('a file that is uploaded over twelve attempts with progress does not fail, and the post goes out', async (t) => {
  const network = fakeNetwork();
  const channel = await clockedChannel(t, network, database().url);
  const post = await channel.newPost(['A long film']);
  const { upload } = network;
  network.upload = async () => {
    throw new NetworkError('network_unavailable', 'Half of it is there.', {
      accepted: 'no',
      hasProgressed: true,
    });
  };
  for (let attempt = 0; attempt < 12; attempt += 1) {
    t.deepEqual(await post.attempt(), { kind: 'again', code: 'network_unavailable', inMs: 30_000 });
    channel.pass(minute);
  }

  t.is((await post.row()).tries, 0);
  network.upload = upload;
  t.like(await post.attempt(), { kind: 'done', status: 'published' });
  t.deepEqual(liveTexts(network), ['A long film']);
});

test('a file that is still uploading a day after the due time fails the post', async (t) => {
  const network = fakeNetwork();
  const channel = await clockedChannel(t, network, database().url);
  const post = await channel.newPost(['A long film']);
  network.upload = async () => {
    throw new NetworkError('network_unavailable', 'Half of it is there.', {
      accepted: 'no',
      hasProgressed: true,
    });
  };
  channel.pass(24 * 60 * minute - 10_000);
  t.like(await post.attempt(), { kind: 'done', status: 'failed', code: 'too_late' });
});
