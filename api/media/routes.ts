import { AppError, pointerToken, wrongValue } from '../../domain/errors.ts';
import { plainTexts } from '../../domain/texts.ts';
import { unknownName } from '../../runtime/nearest-name.ts';
import { importMedia } from '../../services/media/download-media.ts';
import { editMedia } from '../../services/media/edit-media.ts';
import { altTextFault } from '../../services/media/file-texts.ts';
import { deleteMedia, listMedia, loadMedia } from '../../services/media/library.ts';
import { uploadMedia, type ReadUpload } from '../../services/media/upload-media.ts';
import type { Multipart } from '../http/read-multipart.ts';
import {
  createdAnswer,
  idempotencyHeader,
  idempotencyKey,
  requestKey,
} from '../http/idempotency.ts';
import { deletedAnswer, ok, routesWith, type Route, type Request } from '../http/route.ts';
import {
  editMediaSchema,
  importSchema,
  mediaAnswer,
  mediaListSchema,
  mediaQuery,
  storedFile,
  uploadSchema,
  type MediaView,
} from './schemas.ts';
import type { MediaFile } from '../../db/entities/media.ts';
import { linkOf } from '../../domain/media.ts';

const route = routesWith({ tag: 'Media', scope: 'media' });

const presentMedia = (publicUrl: string, file: MediaFile): MediaView => ({
  id: file.id,
  type: file.type,
  url: linkOf(publicUrl, file),
  name: file.name,
  size_bytes: file.sizeBytes,
  width: file.width,
  height: file.height,
  duration_ms: file.durationMs,
  alt_text: file.altText,
  created_at: file.createdAt.toISOString(),
});

const uploadReader =
  ({ readMultipart }: Pick<Request, 'readMultipart'>): ReadUpload =>
  async (target) =>
    fileFieldsOf(await readMultipart(target));

function fileFieldsOf({ fields, files }: Multipart): Awaited<ReturnType<ReadUpload>> {
  const { name, alt_text: given, ...others } = fields;
  const altText = plainTexts(given);
  if (Object.hasOwn(others, 'file')) {
    throw misplaced('file', 'must be a file, and is text. With curl, write `-F file=@cat.jpg`');
  }

  const unknown = [
    ...Object.keys(others),
    ...files.map(({ field }) => field).filter((field) => field !== 'file'),
  ];
  if (unknown.length > 0) {
    const [field = ''] = unknown;
    const message = unknownName('field', field, ['file', 'name', 'alt_text']);
    throw wrongValue(`/${pointerToken(field)}`, message, message);
  }

  if (files.length > 1) {
    throw misplaced('file', 'must be given once');
  }

  if (name !== undefined && typeof name !== 'string') {
    throw misplaced('name', 'must be given once, as text');
  }

  if (altText !== undefined && typeof altText !== 'string') {
    throw misplaced('alt_text', 'must be given once, as text');
  }

  const fault = altText === undefined ? null : altTextFault(altText);
  if (fault !== null) {
    throw misplaced('alt_text', fault);
  }

  if (files.length === 0) {
    const message = 'must hold an image or a video';
    throw new AppError('invalid_media', `The field "file" ${message}.`, {
      details: [{ path: '/file', message }],
    });
  }

  return { name: name || files[0]?.fileName, altText: altText || null };
}

const misplaced = (field: string, message: string): AppError =>
  wrongValue(`/${field}`, message, `The field "${field}" ${message}.`);

export const mediaRoutes: Route[] = [
  route.get('/media', {
    operationId: 'listMedia',
    summary: 'The media library, the newest files first',
    description: '`type` and `search` filter the list.',
    query: mediaQuery,
    answers: ok('A page of files.', mediaListSchema),
    handle: async ({ caller: { workspaceId }, query }, deps) => {
      const { files, nextCursor } = await listMedia(deps.orm.em.fork(), workspaceId, query);
      const media = files.map((file) => presentMedia(deps.publicUrl, file));
      return { status: 200, body: { media, next_cursor: nextCursor } };
    },
  }),
  route.post('/media', {
    operationId: 'uploadMedia',
    summary: 'Upload an image or a video',
    description:
      'One file, as `multipart/form-data`. Its type is read from its bytes, not from its name.',
    body: uploadSchema,
    bodyKind: 'multipart',
    requestHeaders: idempotencyHeader,
    answers: storedFile,
    errors: ['invalid_media', 'quota_exceeded', 'payload_too_large', 'unsupported_media_type'],
    handle: async (request, deps) => {
      const { media, replayed } = await uploadMedia(deps, request.caller, {
        read: uploadReader(request),
        present: (file) => ({ media: presentMedia(deps.publicUrl, file) }),
        clientSignal: request.clientSignal,
        bodyBytes: Number(request.header('content-length') || 0),
        idempotencyKey: idempotencyKey(request.header),
      });
      return createdAnswer({ media }, replayed, `/api/v1/media/${media.id}`);
    },
  }),
  route.post('/media/import', {
    operationId: 'importMedia',
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
    errors: ['invalid_media_url', 'quota_exceeded'],
    handle: async ({ caller, body, header, clientSignal }, deps) => {
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
  }),
  route.get('/media/{id}', {
    operationId: 'getMedia',
    summary: 'A file of the media library',
    description: '`url` opens in a browser, without an API key.',
    answers: ok('The file.', mediaAnswer),
    handle: async ({ caller: { workspaceId }, params: { id = '' } }, deps) => {
      const file = await loadMedia(deps.orm.em.fork(), workspaceId, id);
      return { status: 200, body: { media: presentMedia(deps.publicUrl, file) } };
    },
  }),
  route.patch('/media/{id}', {
    operationId: 'editMedia',
    summary: 'Change the alt text or the name of a file',
    description:
      'Only the fields that are sent change. The link changes with the name; the old link keeps working. An alt text that a network of a waiting post would refuse is refused. A key with `channel_ids` cannot change a file of a post that waits on other channels.',
    body: editMediaSchema,
    bodyExamples: {
      altText: {
        summary: 'An alt text',
        value: { alt_text: 'Fishing boats in a harbour, at dusk.' },
      },
    },
    answers: ok('The updated file.', mediaAnswer),
    errors: ['invalid_content', 'quota_exceeded', 'media_in_use'],
    handle: async ({ caller, params: { id = '' }, body }, deps) => {
      const file = await editMedia(deps, caller, id, {
        altText: plainTexts(body.alt_text),
        name: body.name,
      });
      return { status: 200, body: { media: presentMedia(deps.publicUrl, file) } };
    },
  }),
  route.delete('/media/{id}', {
    operationId: 'deleteMedia',
    summary: 'Delete a file of the media library',
    description:
      'Its link stops working. Drafts and ended posts lose the file. A key with `channel_ids` deletes no file of a post that it may not change.',
    answers: ok('The file is deleted.', deletedAnswer),
    errors: ['media_in_use'],
    handle: async ({ caller, params: { id = '' } }, deps) => {
      await deleteMedia(deps, caller, id);
      return { status: 200, body: { ok: true, id } };
    },
  }),
];
