import { MediaFile } from '../../db/entities/media-file.ts';
import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import type { ApiDeps } from '../deps.ts';
import { cursorQuery } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { nullable, record, text, uuid } from '../../domain/json-schema.ts';
import { location } from '../http/shared-schemas.ts';
import { deleteMedia } from './delete-media.ts';
import { deleted, listed, one } from './examples.ts';
import { listMedia, type MediaQuery } from './list-media.ts';
import { presentMedia } from './present-media.ts';
import { mediaFileSchema, uploadSchema } from './schemas.ts';
import { uploadMedia } from './upload-media.ts';

/** Of a page (specification, Limits). */
const most = 50;

export const mediaRoutes = (deps: ApiDeps): Route[] => [
  listCall(deps),
  uploadCall(deps),
  readCall(deps),
  deleteCall(deps),
];

const listCall = (deps: ApiDeps): Route => ({
  method: 'get',
  path: '/media',
  operationId: 'listMedia',
  tag: 'Media',
  summary: 'The media library, the newest files first',
  query: {
    type: {
      description: 'Only images, or only videos.',
      schema: { type: 'string', enum: ['image', 'video'] },
    },
    search: {
      description: 'Any part of the name, in any case.',
      schema: { type: 'string', maxLength: 255 },
    },
    limit: {
      description: 'How many at most.',
      schema: { type: 'integer', minimum: 1, maximum: most, default: most },
    },
    cursor: cursorQuery,
  },
  answers: {
    200: {
      description: 'The files, and where to go on.',
      schema: record({
        media: { type: 'array', items: mediaFileSchema },
        next_cursor: { ...nullable(text), description: 'For the next page; null at the end.' },
      }),
      examples: listed,
    },
  },
  errors: ['invalid_request'],
  handle: async ({ caller: { workspaceId }, query }) => {
    // Checked against the schemas above, of which the parser does not fill in defaults.
    const asked: MediaQuery = { limit: most, ...(query as Partial<MediaQuery>) };
    if (!isText(asked.search ?? '')) {
      const message = 'must be text: no NUL, no half of a surrogate pair';
      throw new AppError('invalid_request', `?search ${message}.`, {
        details: [{ path: '?search', message }],
      });
    }

    const { files, nextCursor } = await listMedia(deps.orm.em.fork(), workspaceId, asked);
    const media = files.map((file) => presentMedia(deps.publicUrl, file));
    return { status: 200, body: { media, next_cursor: nextCursor } };
  },
});

const uploadCall = (deps: ApiDeps): Route => ({
  method: 'post',
  path: '/media',
  operationId: 'uploadMedia',
  tag: 'Media',
  summary: 'Upload an image or a video',
  description: 'One file, as `multipart/form-data`. What it is, its bytes say, not its name.',
  body: uploadSchema,
  bodyKind: 'multipart',
  answers: {
    201: {
      description: 'The file.',
      schema: record({ media: mediaFileSchema }),
      headers: { Location: location },
      examples: one,
    },
  },
  errors: [
    'invalid_request',
    'invalid_media',
    'quota_exceeded',
    'payload_too_large',
    'unsupported_media_type',
  ],
  handle: async (request) => {
    const file = await uploadMedia(deps, request.caller, request);
    return {
      status: 201,
      body: { media: presentMedia(deps.publicUrl, file) },
      headers: { Location: `/api/v1/media/${file.id}` },
    };
  },
});

const readCall = (deps: ApiDeps): Route => ({
  method: 'get',
  path: '/media/{id}',
  operationId: 'getMedia',
  tag: 'Media',
  summary: 'A file of the media library',
  answers: {
    200: {
      description: 'The file.',
      schema: record({ media: mediaFileSchema }),
      examples: one,
    },
  },
  errors: ['not_found'],
  handle: async ({ caller: { workspaceId }, params: { id = '' } }) => {
    const file = await deps.orm.em.fork().findOne(MediaFile, { id, workspaceId, deletedAt: null });
    if (!file) {
      throw new AppError('not_found', `There is no media file "${id}".`);
    }

    return { status: 200, body: { media: presentMedia(deps.publicUrl, file) } };
  },
});

const deleteCall = (deps: ApiDeps): Route => ({
  method: 'delete',
  path: '/media/{id}',
  operationId: 'deleteMedia',
  tag: 'Media',
  summary: 'Delete a file of the media library',
  description:
    'Its link stops working. Drafts and finished posts that have the file go without it.',
  answers: {
    200: {
      description: 'The file is deleted.',
      schema: record({ ok: { type: 'boolean', const: true }, id: uuid }),
      examples: deleted,
    },
  },
  errors: ['not_found', 'media_in_use'],
  handle: async ({ caller: { workspaceId }, params: { id = '' } }) => {
    await deleteMedia(deps, workspaceId, id);
    return { status: 200, body: { ok: true, id } };
  },
});
