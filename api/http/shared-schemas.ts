import { fields, listOf, text } from '../../domain/json-schema.ts';

/** Of an id that is asked for: in lower case, as every id goes out. The format `uuid` takes more spellings. */
export const idPattern = '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$';

/** The header of an answer that made something. */
export const location = {
  description: 'The path of what was made.',
  schema: { type: 'string', format: 'uri-reference' },
};

export const errorSchema = fields(
  {
    error: { ...text, description: 'A sentence for people.' },
    code: { ...text, description: 'For programs. Stable.' },
    details: listOf(
      fields(
        {
          path: { ...text, description: 'A JSON pointer into the request.' },
          message: text,
          quota: { ...text, description: 'With `quota_exceeded`: which one.' },
          limit: { type: 'integer', description: 'With `quota_exceeded`: what it allows.' },
          used: { type: 'integer', description: 'With `quota_exceeded`: what there is.' },
        },
        ['path', 'message'],
      ),
    ),
  },
  ['error', 'code'],
);
