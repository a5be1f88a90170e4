import { fields, text } from '../../domain/json-schema.ts';
import { plainTexts } from '../../domain/texts.ts';
import { longestAltText } from '../../services/media/file-texts.ts';
import { importMedia } from '../../services/media/import-media.ts';
import type { ApiDeps } from '../deps.ts';
import { createdAnswer, idempotencyHeader, requestKey } from '../http/idempotency.ts';
import { route, type Route } from '../http/route.ts';
import { presentMedia } from './present-media.ts';
import { storedFile } from './schemas.ts';

const importSchema = fields(
  {
    url: { ...text, description: 'A public https link to an image or a video of at most 200 MB.' },
    name: { ...text, description: 'Replaces the name in the URL.' },
    alt_text: {
      ...text,
      maxLength: longestAltText,
      description: 'Alt text, for people who cannot see the file.',
    },
  },
  ['url'],
);

export const importCall = (deps: ApiDeps): Route =>
  route({
    method: 'post',
    path: '/media/import',
    operationId: 'importMedia',
    tag: 'Media',
    scope: 'media',
    summary: 'Download an image or a video into the library',
    description:
      'The answer comes when the file is stored, which may take ten minutes. `media_urls` and `media` of a post download files too.',
    requestHeaders: idempotencyHeader,
    body: importSchema,
    bodyExamples: {
      link: {
        summary: 'A picture',
        value: { url: 'https://example.com/harbour.jpg', alt_text: 'Fishing boats in a harbour.' },
      },
    },
    answers: storedFile,
    errors: ['invalid_request', 'invalid_media_url', 'idempotency_key_reused', 'quota_exceeded'],
    handle: async ({ caller, body, header, clientSignal }) => {
      const { media, replayed } = await importMedia(deps, caller, {
        url: body.url,
        name: body.name,
        altText: plainTexts(body.alt_text) || null,
        present: (file) => ({ media: presentMedia(deps.publicUrl, file) }),
        clientSignal: clientSignal(),
        key: requestKey(header, 'importMedia', body),
      });
      return createdAnswer({ media }, replayed, `/api/v1/media/${media.id}`);
    },
  });
