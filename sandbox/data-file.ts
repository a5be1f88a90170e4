import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Ajv, type SchemaObject } from 'ajv';
import { accountNames } from './account-name.ts';
import { grantSchema, type SandboxGrant } from './oauth/grant.ts';
import { registeredAppSchema, type RegisteredApp } from './oauth/registered-app.ts';
import { isRefused, type SandboxPost } from './post.ts';

export type Saved = {
  /** Signs tokens, so that sessions survive a restart like on a real server. */
  readonly secret: string;
  readonly posts: readonly SandboxPost[];
  /** These two are absent in files of earlier versions. */
  readonly grants?: readonly SandboxGrant[] | undefined;
  readonly apps?: readonly RegisteredApp[] | undefined;
};

const ajv = new Ajv({ allowUnionTypes: true });

/** Schemas of the fields that only one network's posts have, by network. */
export type PostSchemas = Readonly<Record<string, SchemaObject>>;

const isSaved = ajv.compile<Saved>({
  type: 'object',
  required: ['secret', 'posts'],
  properties: {
    secret: { type: 'string', minLength: 1 },
    posts: {
      type: 'array',
      items: {
        type: 'object',
        required: ['network', 'id', 'text', 'createdAt', 'replyTo'],
        properties: {
          network: { type: 'string' },
          id: { type: 'string' },
          text: { type: 'string' },
          createdAt: { type: 'string' },
          replyTo: { type: ['string', 'null'] },
          account: { enum: accountNames },
        },
      },
    },
    grants: { type: 'array', items: grantSchema },
    apps: { type: 'array', items: registeredAppSchema },
  },
});

const fileSchema = {
  type: 'object',
  required: ['cid', 'type', 'altText'],
  properties: {
    cid: { type: 'string' },
    type: { type: 'string' },
    altText: { type: 'string' },
  },
};

const isRefusedPost = ajv.compile({
  type: 'object',
  properties: {
    refused: { type: 'string' },
    title: { type: 'string' },
    files: { type: 'array', items: fileSchema },
  },
});

/** Reads the data of an earlier run; undefined when there is none. @throws Error for another kind of file. */
export async function readDataFile(path: string, schemas: PostSchemas): Promise<Saved | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
  const saved = parse(text);
  if (!isSaved(saved) || !saved.posts.every(postChecker(schemas))) {
    throw new Error(`${path} holds no sandbox posts. Delete it or choose another file.`);
  }
  return saved;
}

function postChecker(schemas: PostSchemas): (post: SandboxPost) => boolean {
  const checks = new Map(
    Object.entries(schemas).map(([network, schema]) => [network, ajv.compile(schema)]),
  );
  return (post) => {
    const check = checks.get(post.network);
    return check !== undefined && (isRefused(post) ? isRefusedPost : check)(post);
  };
}

/**
 * Returns a function that writes the snapshot and resolves once it is on disk.
 *
 * Calls during a write share the next one. The file is replaced by a rename, so a kill leaves either the old or the new
 * one.
 */
export function createDataFileWriter(path: string, snapshot: () => Saved): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    await last.catch(() => undefined); // Its own caller gets the error.
    last = next ?? last;
    next = undefined;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.new`, JSON.stringify(snapshot()), { mode: 0o600 });
    await rename(`${path}.new`, path);
  };
  return () => {
    next ??= write();
    return next;
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
