import { upload } from '../support/media-library.ts';
import { pictureFile, pixelsOf } from '../networks/files.ts';
import { addMastodonChannel, mastodonAccount, networkPorts } from '../support/accounts.ts';
import { newClient } from '../support/client.ts';
import { env } from '../support/env.ts';
import { beforeTests } from '../support/kit.ts';
import { lossyProxy, type LossyProxy, type Target } from '../support/lossy-proxy.ts';
import { needs } from '../support/needs.ts';
import { startApi } from '../support/punctual.ts';
import { killed, startWorkerProcess } from '../support/worker-process.ts';
import { statusesOf } from './live-posts.ts';

const test = needs('temporal', 'gotosocial');

const statuses = { method: 'POST', path: /\/api\/v1\/statuses/v };
const uploads = { method: 'POST', path: /\/api\/v2\/media/v };

/** Resolves when the server has received the next request of this kind. Its response never arrives. */
const held = (line: LossyProxy, target: Target): Promise<void> =>
  new Promise((taken) => line.plan(target, { kind: 'held', onReceived: taken }));

/** A worker that is killed during two posts, a thread and one with pictures, and another one that continues both. */
const shared = beforeTests(test, async (scope) => {
  const line = await lossyProxy(scope, env('PUNCTUAL_TEST_GOTOSOCIAL_URL'));
  const allowPorts = [...networkPorts(), Number(new URL(line.url).port)];
  const punctual = await startApi(scope, { allowPorts });
  const client = await newClient(punctual);
  const channel = async () => {
    const account = await mastodonAccount();
    const id = await addMastodonChannel(punctual, client.workspaceId, account, line.url);
    return { account, id };
  };
  const [ofThread, ofPicture] = [await channel(), await channel()];
  const files = [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 20, 40)];
  const mediaIds: string[] = [];
  for (const { bytes, name } of files) {
    const { body } = await upload(punctual, client, { bytes, fileName: name });
    mediaIds.push(body.media.id);
  }

  const first = await startWorkerProcess(scope, punctual, allowPorts);
  // The picture's post sends no status, because its upload is held.
  line.plan(statuses, { kind: 'none' });
  const inTheMiddle = Promise.all([held(line, statuses), held(line, uploads)]);
  const { body: thread } = await client.post('/posts', {
    thread: ['One', 'Two', 'Three'],
    channel_ids: [ofThread.id],
    schedule_in_minutes: 0,
  });
  const { body: picture } = await client.post('/posts', {
    body: 'Survives',
    media_ids: mediaIds,
    channel_ids: [ofPicture.id],
    schedule_in_minutes: 0,
  });
  await inTheMiddle;
  await killed(first);
  const attempts = await punctual.orm.em
    .fork()
    .execute('select state from post_parts where channel_id = ?', [ofPicture.id]);
  await startWorkerProcess(scope, punctual, allowPorts);
  return {
    client,
    thread: { id: thread.post.id, account: ofThread.account },
    picture: { id: picture.post.id, account: ofPicture.account, attempts, files },
  };
});

test('after a worker is killed during a thread, every part is live once, in order', async (t) => {
  const { client, thread } = shared();
  const post = await client.finalPost(thread.id);

  t.is(post.status, 'published');
  const chain = await statusesOf(thread.account);
  t.is(chain.map(({ text }) => text).join(), 'One,Two,Three');
  t.is(chain[1]?.inReplyToId, chain[0]?.id);
  t.is(chain[2]?.inReplyToId, chain[1]?.id);
  t.is(chain[0]?.url, post.channels[0]?.url);
});

test('after a worker is killed during an upload, the post is live once, with its pictures', async (t) => {
  const { client, picture } = shared();
  const post = await client.finalPost(picture.id);

  t.deepEqual(picture.attempts, []); // A post that was never sent needs no wait and no reconcile.
  t.is(post.status, 'published');
  const live = await statusesOf(picture.account);
  t.deepEqual(
    live.map(({ url, text, pictures }) => ({ url, text, pictures })),
    [
      {
        url: post.channels[0]?.url,
        text: 'Survives',
        pictures: await Promise.all(picture.files.map(({ bytes }) => pixelsOf(bytes))),
      },
    ],
  );
});
