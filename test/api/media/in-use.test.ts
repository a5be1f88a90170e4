import type { ExecutionContext } from 'ava';
import { newClient } from '../../support/client.ts';
import { picture } from '../../support/media-files.ts';
import { needs } from '../../support/needs.ts';
import { startLibrary } from './support/start-library.ts';
import { storeChannel } from '../../support/seed.ts';
import { filesOf, linkTo, upload } from './support/library.ts';

const test = needs('postgres');

async function begin(t: ExecutionContext) {
  const punctual = await startLibrary(t);
  const client = await newClient(punctual);
  const channel = await storeChannel(punctual, client.workspaceId);
  const bytes = await picture();
  const newFile = async (): Promise<{ id: string; url: string }> =>
    (await upload(punctual, client, { bytes })).body.media;
  const schedule = (id: string) =>
    client.post('/posts', {
      body: 'Look',
      channel_ids: [channel],
      media_ids: [id],
      schedule_in_minutes: 1000,
    });
  return { punctual, client, newFile, schedule };
}

test('a file that a scheduled post uses cannot be deleted, and can once the post is cancelled', async (t) => {
  const { client, newFile, schedule } = await begin(t);
  const { id } = await newFile();
  const { body } = await schedule(id);
  const { status, body: refusal } = await client.delete(`/media/${id}`);

  t.is(status, 409);
  t.like(refusal, { code: 'media_in_use' });
  t.true(refusal.error.includes(body.post.id));
  t.is((await client.get(`/media/${id}`)).status, 200);
  await client.post(`/posts/${body.post.id}/cancel`, {});
  t.is((await client.delete(`/media/${id}`)).status, 200);
});

test('a file that a post is being published with cannot be deleted', async (t) => {
  const { punctual, client, newFile, schedule } = await begin(t);
  const { id } = await newFile();
  const { body } = await schedule(id);
  const em = punctual.orm.em.fork();
  await em.execute(`update posts set status = 'publishing' where id = ?`, [body.post.id]);

  t.like(await client.delete(`/media/${id}`), { status: 409, body: { code: 'media_in_use' } });
});

test('a file of a draft can be deleted, and the draft goes without it', async (t) => {
  const { punctual, client, newFile } = await begin(t);
  const { id, url } = await newFile();
  const { body } = await client.post('/posts', { body: 'Look', media_ids: [id] });
  t.is(body.post.media[0].url, url);

  t.is((await client.delete(`/media/${id}`)).status, 200);
  t.deepEqual((await client.get(`/posts/${body.post.id}`)).body.post.media, []);
  t.is((await fetch(linkTo(punctual, url))).status, 404);
});

test('a deletion and a schedule of the same file at once: one of them wins, 200 times', async (t) => {
  const { punctual, newFile, client, schedule } = await begin(t);
  const outcomes: string[] = [];
  for (let round = 0; round < 200; round += 1) {
    const { id } = await newFile();
    const [deleted, scheduled] = await Promise.all([client.delete(`/media/${id}`), schedule(id)]);
    outcomes.push(`${deleted.status} ${scheduled.status}`);
    t.is((await client.get(`/media/${id}`)).status, deleted.status === 200 ? 404 : 200);
  }

  const odd = outcomes.filter((outcome) => !['200 400', '409 201'].includes(outcome));
  t.deepEqual(odd, []);
  t.is((await filesOf(punctual)).length, outcomes.filter((each) => each === '409 201').length);
});
