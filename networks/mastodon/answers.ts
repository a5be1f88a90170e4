import { answerReader } from '../answer.ts';

/** An id is opaque: Mastodon's are decimal numbers, GoToSocial's are ULIDs. */
const id = { type: 'string', minLength: 1, maxLength: 255 };

/** What ends up as a link in a user's page must be one. */
const address = { type: 'string', pattern: '^https?://' };

export type Status = {
  readonly id: string;
  /** The page for people. Null only for statuses of other servers. */
  readonly url?: string | null;
  readonly uri: string;
  readonly in_reply_to_id?: string | null;
  /** HTML. */
  readonly content?: string;
  readonly media_attachments?: readonly unknown[];
  /** Of an account's own statuses: what made them. */
  readonly application?: Application | null;
};

export type Application = { readonly name: string };

const application = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' } },
};

const status = {
  type: 'object',
  required: ['id', 'uri'],
  properties: {
    id,
    url: { ...address, nullable: true },
    uri: address,
    in_reply_to_id: { ...id, nullable: true },
    content: { type: 'string' },
    media_attachments: { type: 'array' },
    application: { ...application, nullable: true },
  },
};

export const readStatus = answerReader<Status>(status);

export const readStatuses = answerReader<Status[]>({ type: 'array', items: status });

/** Of `GET /api/v1/apps/verify_credentials`. */
export const readApplication = answerReader<Application>(application);

export const readSource = answerReader<{ readonly text: string }>({
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string' } },
});

/** Of a file that was uploaded; it has no URL while the server still works on it. */
export const readAttachment = answerReader<{ readonly id: string }>({
  type: 'object',
  required: ['id'],
  properties: { id },
});

export const readOwnAccount = answerReader<{ readonly id: string; readonly username: string }>({
  type: 'object',
  required: ['id', 'username'],
  properties: { id, username: { type: 'string', minLength: 1, maxLength: 255 } },
});

/** Its limits stay unread here: a server that gets one of them wrong still has the others. */
export type Instance = {
  readonly domain?: string;
  readonly configuration?: {
    readonly statuses?: Readonly<Record<string, unknown>>;
    readonly media_attachments?: Readonly<Record<string, unknown>>;
  };
};

/** Of `GET /api/v2/instance`. */
export const readInstance = answerReader<Instance>({
  type: 'object',
  properties: {
    domain: { type: 'string', minLength: 1, maxLength: 255 },
    configuration: {
      type: 'object',
      properties: { statuses: { type: 'object' }, media_attachments: { type: 'object' } },
    },
  },
});

export const readRefusal = answerReader<{ readonly error: string }>({
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string' } },
});
