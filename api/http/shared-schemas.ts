/** Pieces of JSON Schema that several calls use. */
export const nullable = (schema: { readonly type: string }) => ({
  ...schema,
  type: [schema.type, 'null'],
});

export const uuid = { type: 'string', format: 'uuid' } as const;
/** Of an id that is asked for: in lower case, as every id goes out. The format `uuid` takes more spellings. */
export const idPattern = '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
export const text = { type: 'string' } as const;
export const dateTime = { type: 'string', format: 'date-time' } as const;

/** The header of an answer that made something. */
export const location = {
  description: 'The path of what was made.',
  schema: { type: 'string', format: 'uri-reference' },
};

/** An object of which every field is always present, and no other. */
export const record = (properties: Readonly<Record<string, object>>) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties,
});

export const errorSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['error', 'code'],
  properties: {
    error: { type: 'string', description: 'A sentence for people.' },
    code: { type: 'string', description: 'For programs. Stable.' },
    details: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['path', 'message'],
        properties: {
          path: { type: 'string', description: 'A JSON pointer into the request.' },
          message: text,
          quota: { type: 'string', description: 'With `quota_exceeded`: which one.' },
          limit: { type: 'integer', description: 'With `quota_exceeded`: what it allows.' },
          used: { type: 'integer', description: 'With `quota_exceeded`: what there is.' },
        },
      },
    },
  },
};
