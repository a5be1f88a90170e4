import { newClient } from '../../support/client.ts';
import { beforeTests } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { filesOf, rowsOf, startLibrary } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { ca, fileServer } from './support/file-server.ts';

const test = needs('postgres');
const shared = beforeTests(test, async (scope) => {
  const server = await fileServer(scope);
  return { server, punctual: await startLibrary(scope, { ca, allowPorts: [server.port] }) };
});

test('a file comes into the library by its URL, with a name and an alt text, once for each key', async (t) => {
  const { punctual, server } = shared();
  const client = await newClient(punctual);
  const site = server.newSite({ '/a.jpg': await picture('jpeg') });
  const sent = { url: site.at('/a.jpg'), name: 'Cat.jpg', alt_text: 'A cat' };
  const send = (body: object) => client.post('/media/import', body, { 'idempotency-key': 'k' });
  const first = await send(sent);
  t.is(first.status, 201, JSON.stringify(first.body));
  t.like(first.body.media, { type: 'image/jpeg', name: 'Cat.jpg', alt_text: 'A cat' });
  t.deepEqual((await client.get(`/media/${first.body.media.id}`)).body, first.body);
  const again = await send(sent);
  t.is(again.status, 200);
  t.deepEqual(again.body, first.body);
  t.is((await send({ ...sent, name: 'Dog.jpg' })).body.code, 'idempotency_key_reused');
  t.deepEqual(site.asked, ['/a.jpg']);

  const refused = await client.post('/media/import', { url: 'http://127.0.0.1:1/a.jpg' });
  t.is(refused.body.code, 'invalid_media_url');
  t.is(refused.body.details[0].path, '/url');
  const blank = await client.post('/media/import', { ...sent, alt_text: ' ' });
  t.is(blank.body.error, 'alt_text must not be blank.');
  t.is((await filesOf(punctual)).length, 1);
  t.is(await rowsOf(punctual, client.workspaceId), 1);
  const { entries } = (await client.get('/audit')).body;
  t.deepEqual(
    entries.map(({ action, object_id: id }: Record<string, string>) => [action, id]),
    [['media.uploaded', first.body.media.id]],
  );
});
