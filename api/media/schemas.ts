import { dateTime, nullable, record, text, uuid } from '../../domain/json-schema.ts';

const pixels = { ...nullable({ type: 'integer' }), description: 'In pixels, as displayed.' };

export const mediaFileSchema = record({
  id: { ...uuid, description: 'Pass it in `media_ids` of a post.' },
  type: { type: 'string', description: 'MIME type, read from the bytes.' },
  url: { type: 'string', format: 'uri', description: 'Opens in a browser, without an API key.' },
  name: text,
  size_bytes: { type: 'integer', minimum: 0 },
  width: pixels,
  height: pixels,
  duration_ms: {
    ...nullable({ type: 'integer' }),
    description: 'Of a video or an animation, in milliseconds.',
  },
  created_at: dateTime,
});

export const uploadSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['file'],
  properties: {
    file: {
      type: 'string',
      contentMediaType: 'application/octet-stream',
      description: 'JPEG, PNG, GIF, WebP, MP4, MOV or WebM, of 200 MB at most.',
    },
    name: { type: 'string', description: "What to call it instead of the file's own name." },
  },
};
