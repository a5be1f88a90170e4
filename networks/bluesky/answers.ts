import { answerReader } from '../answer.ts';

const did = { type: 'string', pattern: '^did:[a-z]+:.+$', maxLength: 2048 };
const cid = { type: 'string', pattern: '^[a-z0-9]+$', maxLength: 255 };

export type Login = {
  readonly did: string;
  readonly handle: string;
  readonly accessJwt: string;
  /** What the directory says of the account, where the server hands it out. */
  readonly didDoc?: unknown;
};

/** Of `com.atproto.server.createSession`. */
export const readLogin = answerReader<Login>({
  type: 'object',
  required: ['did', 'handle', 'accessJwt'],
  properties: {
    did,
    handle: { type: 'string', minLength: 1, maxLength: 253 },
    accessJwt: { type: 'string', pattern: '^[\\x21-\\x7e]+$' },
  },
});

export type DidDocument = {
  readonly service: readonly { readonly id: string; readonly serviceEndpoint?: unknown }[];
};

export const readDidDocument = answerReader<DidDocument>({
  type: 'object',
  required: ['service'],
  properties: {
    service: {
      type: 'array',
      items: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
    },
  },
});

/** Of `com.atproto.identity.resolveHandle`. */
export const readDid = answerReader<{ readonly did: string }>({
  type: 'object',
  required: ['did'],
  properties: { did },
});

/** A file on a server, as a record names it. */
export type Blob = {
  readonly $type: 'blob';
  readonly ref: { readonly $link: string };
  readonly mimeType: string;
  readonly size: number;
};

export const blob = {
  type: 'object',
  required: ['$type', 'ref', 'mimeType', 'size'],
  properties: {
    $type: { const: 'blob' },
    ref: { type: 'object', required: ['$link'], properties: { $link: cid } },
    mimeType: { type: 'string', maxLength: 255 },
    size: { type: 'integer', minimum: 0 },
  },
};

/** Of `com.atproto.repo.uploadBlob`. */
export const readUploaded = answerReader<{ readonly blob: Blob }>({
  type: 'object',
  required: ['blob'],
  properties: { blob },
});

/** Of `com.atproto.repo.applyWrites`. Older servers answer with an empty object. */
export const readWritten = answerReader<object>({ type: 'object' });

/** Of `com.atproto.repo.getRecord`. */
export const readRecord = answerReader<{ readonly cid: string }>({
  type: 'object',
  required: ['cid'],
  properties: { cid },
});

export type XrpcError = { readonly error: string; readonly message?: string };

export const readXrpcError = answerReader<XrpcError>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' }, message: { type: 'string' } },
});
