import { statSync } from 'node:fs';
import { buildRouteMap } from '@stricli/core';
import type { CallOptions, Punctual, UploadFields } from '../../sdk/src/index.ts';
import { command } from '../command.ts';
import { UsageError } from '../failures.ts';
import { given, oneOf, text } from '../flags.ts';
import { facts, tableOf } from '../table.ts';
import { pages, pagingFlags } from './pages.ts';

const upload = command({
  brief: 'Uploads pictures and videos',
  examples: ['media upload cat.jpg --alt "A cat on a roof"', `media upload *.png --jq '.media.id'`],
  rest: { files: 'Path of a file, or a URL' },
  flags: { alt: text('Alt text, of a single file') },
  async *run({ client: open }, { files, alt }) {
    if (alt !== undefined && files.length > 1) {
      throw new UsageError('--alt is for a single file.');
    }

    const client = await open();
    for (const file of files) {
      const answer = await uploadFile(client, file, given({ alt_text: alt }));
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
    search: text('Only files with these words in their name', 'WORDS'),
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

/** Uploads a file, or lets the API download a URL. @throws UsageError if it is neither. */
export async function uploadFile(
  client: Punctual,
  file: string,
  fields: UploadFields,
  options: CallOptions = {},
) {
  if (/^https?:\/\//v.test(file)) {
    return client.media.import({ url: file, ...fields });
  }

  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new UsageError(`${file} is not a file.`);
  }

  return client.media.upload(file, fields, options);
}
