import type { Call } from './request.ts';
import type { Schemas } from './types.ts';

/** A file: its path (Node, Deno, Bun), its content, or a stream, which is sent once and not repeated. */
export type UploadSource = string | Blob | ReadableStream<Uint8Array>;

export type UploadFields = Omit<Schemas['NewMediaFile'], 'file'>;

type Body = NonNullable<Call['body']>;

/** The multipart body of an upload. */
export async function uploadBody(source: UploadSource, fields: UploadFields = {}): Promise<Body> {
  const texts = Object.entries(fields).filter(([, text]) => text !== undefined);
  if (source instanceof ReadableStream) {
    return streamed(source, texts);
  }

  if (typeof source !== 'string' && !(source instanceof Blob)) {
    throw new TypeError('Pass a path, a Blob or a web stream.');
  }

  const form = new FormData();
  for (const [name, text] of texts) {
    form.set(name, text);
  }

  if (typeof source === 'string') {
    form.set('file', await openFile(source), source.split(/[/\\]/).at(-1));
  } else {
    form.set('file', source);
  }

  return { value: form };
}

async function openFile(path: string): Promise<Blob> {
  type Builtin = { readonly openAsBlob: (path: string) => Promise<Blob> };
  // Not an import, which would break bundles for browsers.
  const { process } = globalThis as {
    process?: { readonly getBuiltinModule?: (name: string) => Builtin };
  };
  const fs = process?.getBuiltinModule?.('node:fs');
  if (!fs) {
    throw new TypeError('Pass a Blob: this runtime opens no paths (Node does from 20.16).');
  }

  try {
    return await fs.openAsBlob(path);
  } catch (error) {
    throw new Error(`${path} cannot be opened.`, { cause: error });
  }
}

/** Without `FormData`, which would need the whole content in memory. */
function streamed(
  content: ReadableStream<Uint8Array>,
  texts: readonly (readonly [string, string])[],
): Body {
  const boundary = crypto.randomUUID();
  const part = (disposition: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
  const head = [
    ...texts.map(([name, text]) => `${part(`name="${name}"`)}\r\n${text}\r\n`),
    `${part('name="file"; filename="file"')}Content-Type: application/octet-stream\r\n\r\n`,
  ].join('');
  const encoder = new TextEncoder();
  const frame = new TransformStream<Uint8Array, Uint8Array>({
    start: (out) => out.enqueue(encoder.encode(head)),
    flush: (out) => out.enqueue(encoder.encode(`\r\n--${boundary}--\r\n`)),
  });
  return {
    value: content.pipeThrough(frame),
    type: `multipart/form-data; boundary=${boundary}`,
  };
}
