import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Reply } from '../../support/client.ts';
import { picture } from '../../support/media-files.ts';
import { upload } from '../../support/media-library.ts';
import type { Punctual } from '../../support/punctual.ts';
import type { FileServer } from '../media/support/file-server.ts';
import type { Owned } from '../owned.ts';
import type { RecordAnswer } from './record-answer.ts';

/** Every response of the media calls that needs a case of its own. */
export async function media(
  punctual: Punctual,
  { client, media: id, channel }: Owned,
  files: FileServer,
  recordAnswer: RecordAnswer,
) {
  const bytes = await picture('png');
  const site = files.newSite({ '/a.png': bytes });
  for (const name of ['/a.png', '/a.png', '/b.png']) {
    const reply = await client.post(
      '/media/import',
      { url: site.at(name) },
      { 'idempotency-key': 'i' },
    );
    recordAnswer('post /media/import', reply);
  }

  recordAnswer('post /media/import', await client.post('/media/import', { url: site.at('/none') }));
  recordAnswer('post /media', await upload(punctual, client, { bytes }));
  recordAnswer('post /media', await upload(punctual, client, { bytes, fields: { title: 'Cat' } }));
  recordAnswer('post /media', await upload(punctual, client, { bytes: Buffer.from('no picture') }));
  for (const altText of ['A cat.', 'A cat.', 'A dog.']) {
    const once = { bytes, fields: { alt_text: altText }, headers: { 'idempotency-key': 'file' } };
    recordAnswer('post /media', await upload(punctual, client, once));
  }

  recordAnswer('post /media', await announced(punctual, client.key));
  recordAnswer('get /media', await client.get('/media'));
  recordAnswer('get /media/{id}', await client.get(`/media/${id}`));

  const edit = (to: string, body: object) => client.patch(`/media/${to}`, body);
  recordAnswer('patch /media/{id}', await edit(id, { alt_text: 'A cat.' }));
  recordAnswer('patch /media/{id}', await edit(id, { alt_text: ' ' }));
  recordAnswer('patch /media/{id}', await edit(crypto.randomUUID(), { alt_text: 'A cat.' }));

  const time = { channel_ids: [channel], schedule_in_minutes: 60 };
  const user = await client.post('/posts', { body: 'With a cat.', media_ids: [id], ...time });
  recordAnswer('patch /media/{id}', await edit(id, { alt_text: 'A cat. '.repeat(250).trim() }));
  recordAnswer('delete /media/{id}', await client.delete(`/media/${id}`));
  await client.post(`/posts/${user.body.post.id}/cancel`);
  recordAnswer('delete /media/{id}', await client.delete(`/media/${id}`));
}

/** An upload that announces too many bytes and sends none. */
function announced({ url }: Punctual, key: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': String(300 * 1024 * 1024),
    };
    const sending = request(`${url}/api/v1/media`, { method: 'POST', headers });
    sending.on('error', reject).on('response', (response) => {
      const { statusCode: status = 0, headers: received } = response;
      const read = async (): Promise<Reply> => ({
        status,
        headers: new Headers(received as Record<string, string>),
        body: JSON.parse(await text(response)),
      });
      read()
        .then(resolve, reject)
        .finally(() => sending.destroy());
    });
    sending.flushHeaders();
  });
}
