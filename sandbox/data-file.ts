import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Ajv } from 'ajv';
import type { Post } from './post.ts';

export type Saved = {
  /** Signs Bluesky's tokens, so that a session outlives a restart as it does on a real server. */
  readonly secret: string;
  readonly posts: readonly Post[];
};

const isSaved = new Ajv({ discriminator: true }).compile<Saved>({
  type: 'object',
  required: ['secret', 'posts'],
  properties: {
    secret: { type: 'string', minLength: 1 },
    posts: {
      type: 'array',
      items: {
        type: 'object',
        required: ['network', 'id', 'text', 'createdAt', 'replyTo'],
        discriminator: { propertyName: 'network' },
        properties: {
          id: { type: 'string' },
          text: { type: 'string' },
          createdAt: { type: 'string' },
          replyTo: { type: ['string', 'null'] },
        },
        oneOf: [
          {
            required: ['visibility', 'language', 'key'],
            properties: {
              network: { const: 'mastodon' },
              visibility: { type: 'string' },
              language: { type: ['string', 'null'] },
              key: { type: ['string', 'null'] },
              media: {
                type: 'array',
                items: {
                  type: 'object',
                  required: ['id', 'cid', 'type', 'description'],
                  properties: {
                    id: { type: 'string' },
                    cid: { type: 'string' },
                    type: { type: 'string' },
                    description: { type: ['string', 'null'] },
                  },
                },
              },
            },
          },
          {
            required: ['cid', 'record'],
            properties: {
              network: { const: 'bluesky' },
              cid: { type: 'string' },
              record: { type: 'object' },
            },
          },
        ],
      },
    },
  },
});

/** What an earlier run kept, or undefined when there was none. @throws Error when the file is not ours. */
export async function readDataFile(path: string): Promise<Saved | undefined> {
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
  if (!isSaved(saved)) {
    throw new Error(`${path} holds no sandbox posts. Delete it or choose another file.`);
  }
  return saved;
}

/**
 * Returns a function that writes what `snapshot` gives and resolves once it is on disk.
 *
 * Calls that come during a write share the next one. The file changes by a rename, so a kill leaves the old
 * or the new one, never half of it.
 */
export function createDataFileWriter(path: string, snapshot: () => Saved): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    await last.catch(() => undefined); // Its own caller hears of it.
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
