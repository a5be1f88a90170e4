import { statSync } from 'node:fs';
import { buildRouteMap } from '@stricli/core';
import { Punctual, type CallOptions, type UploadFields } from '../../sdk/src/index.ts';
import { command, type Session } from '../command.ts';
import { UsageError } from '../failures.ts';
import { given, oneOf, text } from '../flags.ts';
import { facts, tableOf } from '../table.ts';
import { pages, pagingFlags } from './pages.ts';

const upload = command({
  brief: 'Uploads pictures and videos',
  examples: ['media upload cat.jpg --alt "A cat on a roof"', `media upload *.png --jq '.media.id'`],
  rest: { files: 'Path of a file, or a URL' },
  flags: { alt: text('Alt text, of a single file') },
  async *run(session, { files, alt }) {
    if (alt !== undefined && files.length > 1) {
      throw new UsageError('--alt is for a single file.');
    }

    for (const file of files) {
      const answer = await uploadFile(session, file, given({ alt_text: alt }));
      const { id, type, url } = answer.media;
      yield {
        data: answer,
        text: facts([
          ['File', id],
          ['Type', type],
          ['URL', url],
        ]),
      };
    }
  },
});

const list = command({
  brief: 'Lists the files of the library, newest first',
  flags: {
    type: oneOf(['image', 'video'], 'Only these'),
    search: text('Only files with these words in their name or alt text', 'WORDS'),
    ...pagingFlags,
  },
  async *run({ client: open }, { all, ...filters }) {
    const client = await open();
    for await (const answer of pages((one) => client.media.list(one), given(filters), all)) {
      const fields = ['id', 'type', 'size_bytes', 'name', 'alt_text'] as const;
      yield { data: answer, text: tableOf(answer.media, fields) };
    }
  },
});

export const media = buildRouteMap({
  routes: { upload, list },
  docs: { brief: 'Uploads and lists pictures and videos' },
});

/** Uploads a file with a progress bar at a terminal, or lets the API download a URL. @throws UsageError if it is neither. */
export async function uploadFile(
  { access }: Session,
  file: string,
  fields: UploadFields,
  options: CallOptions = {},
) {
  const { url: baseUrl, apiKey } = await access();
  if (/^https?:\/\//v.test(file)) {
    return new Punctual({ baseUrl, apiKey }).media.import({ url: file, ...fields });
  }

  const bytes = statSync(file, { throwIfNoEntry: false });
  if (!bytes?.isFile()) {
    throw new UsageError(`${file} is not a file.`);
  }

  const { stderr } = process;
  const bar = (sent: number) => {
    const done = Math.min(1, sent / Math.max(1, bytes.size));
    const filled = '#'.repeat(Math.floor(done * 30)).padEnd(30, '.');
    stderr.write(`\r${filled} ${Math.floor(done * 100)} % of ${megabytes(bytes.size)} `);
  };
  const counted = stderr.isTTY ? { fetch: countingFetch(bar) } : {};
  try {
    return await new Punctual({ baseUrl, apiKey, ...counted }).media.upload(file, fields, options);
  } finally {
    if (stderr.isTTY) {
      stderr.write('\n');
    }
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** `fetch` that reports how many bytes of the body were sent. */
const countingFetch =
  (report: (sent: number) => void): typeof fetch =>
  (url, init) => {
    // Makes a stream of the form, and the header with its boundary.
    const { body, headers } = new Request(url, init);
    let sent = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        sent += chunk.length;
        report(sent);
        out.enqueue(chunk);
      },
    });
    return fetch(url, { ...init, headers, body: body?.pipeThrough(counter) ?? null });
  };
