import { sharedApi } from '../../support/kit.ts';
import { picture } from '../../support/media-files.ts';
import { newFilesOf, noTemporal, post } from '../../support/media-library.ts';
import { needs } from '../../support/needs.ts';
import { answerTo, beginUpload, head, tail } from '../media/support/raw-upload.ts';

const test = needs('postgres');
const api = sharedApi(test, { temporalEnv: noTemporal });

async function library() {
  const { punctual } = api;
  return { punctual, client: await api.newClient(), files: await newFilesOf(punctual) };
}

const file = 'content-disposition: form-data; name="file"; filename="a.png"\r\n\r\nx';
const field = (name: string) => `content-disposition: form-data; name="${name}"\r\n\r\nx`;
const body = (...parts: string[]) =>
  `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;

/** Half of a UTF-8 character, as sent by a client that cuts text by bytes or uses Latin-1. */
const halfLetter = Buffer.from([0xc3]);
const cut = (name: string): Buffer<ArrayBuffer> => {
  const [before = '', after = ''] = body(`${field(name)}|`, file).split('|');
  return Buffer.concat([Buffer.from(before), halfLetter, Buffer.from(after)]);
};

const wrong: Readonly<Record<string, readonly [string | Buffer<ArrayBuffer>, string, string]>> = {
  'without a file': [body(field('name')), 'invalid_media', '/file'],
  'with two files': [body(file, file), 'invalid_request', '/file'],
  'with a file in another field': [
    body(file, file.replace('"file"', '"image"')),
    'invalid_request',
    '/image',
  ],
  'with an unknown field': [body(field('title'), file), 'invalid_request', '/title'],
  'with two names': [body(field('name'), field('name'), file), 'invalid_request', '/name'],
  'with a blank alt text': [
    body(`${field('alt_text').slice(0, -1)} \n`, file),
    'invalid_request',
    '/alt_text',
  ],
  'with an alt text that is too long': [
    body(field('alt_text') + 'x'.repeat(5000), file),
    'invalid_request',
    '/alt_text',
  ],
  'with an alt text that is not UTF-8': [cut('alt_text'), 'invalid_request', '/alt_text'],
  'with a name that is not UTF-8': [cut('name'), 'invalid_request', '/name'],
  'that is cut off': [`--b\r\n${file}`, 'invalid_request', ''],
  'with too many fields': [
    body(...Array.from({ length: 11 }, (_, n) => field(`f${n}`)), file),
    'invalid_request',
    '',
  ],
  'with a name that is too long': [
    body(field('name') + 'x'.repeat(65_536), file),
    'invalid_request',
    '',
  ],
  'encoded as for mail': [
    body(`content-transfer-encoding: base64\r\n${file}`),
    'invalid_request',
    '',
  ],
  'with 20 kB of headers of a part': [
    body(`x-note: ${'"a"-'.repeat(5000)}\r\n${file}`),
    'invalid_request',
    '',
  ],
  'with a file name of 2 MB': [
    body(file.replace('a.png', '\\"a\\"-'.repeat(400_000))),
    'invalid_request',
    '',
  ],
};
for (const [name, [text, code, path]] of Object.entries(wrong)) {
  test.serial(`an upload ${name} is refused, and no file is left`, async (t) => {
    const { punctual, client, files } = await library();
    const reply = await post(punctual, client, text, {
      'content-type': 'multipart/form-data; boundary=b',
    });

    t.is(reply.status, 400, JSON.stringify(reply.body));
    t.is(reply.body.code, code);
    t.is(reply.body.details?.[0].path ?? '', path);
    t.deepEqual(await files(), []);
  });
}

test('a file that was sent as text, as by curl without @, is refused with the right form for curl', async (t) => {
  const { punctual, client } = await library();
  const type = { 'content-type': 'multipart/form-data; boundary=b' };
  const reply = await post(punctual, client, body(`${field('file')}cat.jpg`), type);
  t.regex(reply.body.error, /"file" must be a file, and is text.*-F file=@cat\.jpg/v);
});

for (const encoding of ['7bit', '8bit', 'binary', '8BIT']) {
  test(`an upload whose part is declared as ${encoding} is stored unchanged`, async (t) => {
    const { punctual, client } = await library();
    const bytes = await picture();
    const encoded = head
      .toString()
      .replace(/\r\n\r\n$/v, `\r\ncontent-transfer-encoding: ${encoding}\r\n\r\n`);
    const request = beginUpload(t, punctual, client);
    request.end(Buffer.concat([Buffer.from(encoded), bytes, tail]));
    const answer = await answerTo(request);

    t.is(answer.status, 201, JSON.stringify(answer.body));
    t.is(answer.body.media.size_bytes, bytes.length);
  });
}

test('an upload without a boundary is refused', async (t) => {
  const { punctual, client } = await library();
  const reply = await post(punctual, client, body(file), { 'content-type': 'multipart/form-data' });

  t.like(reply, { status: 400, body: { code: 'invalid_request' } });
});

for (const type of ['application/json', 'image/png', 'multipart/mixed; boundary=b', '']) {
  test(`a body of type "${type}" is not accepted as an upload`, async (t) => {
    const { punctual, client } = await library();
    const reply = await post(punctual, client, body(file), { 'content-type': type });

    t.like(reply, { status: 415, body: { code: 'unsupported_media_type' } });
  });
}
