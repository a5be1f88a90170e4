import type { Call } from './request.ts';
import type { Schemas } from './types.ts';

/** A file: its path (Node, Deno, Bun), its content, or a stream, which is sent once and not repeated. */
export type UploadSource = string | Blob | ReadableStream<Uint8Array>;

export type UploadFields = Omit<Schemas['NewMediaFile'], 'file'>;

type Body = NonNullable<Call['body']>;

/** The multipart body of an upload. Node's `FormData` ends the process if a file cannot be read to its end. */
export async function uploadBody(source: UploadSource, fields: UploadFields = {}): Promise<Body> {
  const content = typeof source === 'string' ? await openFile(source) : source;
  if (!(content instanceof ReadableStream) && !(content instanceof Blob)) {
    throw new TypeError('Pass a path, a Blob or a web stream.');
  }

  const { name = 'file' } = content as { readonly name?: string }; // A File has a name.
  const given = typeof source === 'string' ? source.replace(/^.*[\/\\]/sv, '') : name;
  const fileName = given.replaceAll(/["\r\n]/gv, encodeURIComponent);
  const boundary = crypto.randomUUID();
  const part = (field: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n`;
  const texts = Object.entries(fields).map(([field, text]) =>
    text === undefined ? '' : `${part(field)}${text}\r\n`,
  );
  const head = texts.join('') + part(`file"; filename="${fileName}`);
  const tail = `\r\n--${boundary}--\r\n`;
  const value =
    content instanceof Blob ? new Blob([head, content, tail]) : framed(head, content, tail);
  return { value, type: `multipart/form-data; boundary=${boundary}` };
}

async function openFile(path: string): Promise<Blob> {
  type Builtin = { readonly openAsBlob: (path: string) => Promise<Blob> };
  // Not an import, which would break bundles for browsers.
  const { process } = globalThis as {
    process?: { readonly getBuiltinModule?: (name: string) => Builtin };
  };
  const fs = process?.getBuiltinModule?.('node:fs');
  if (!fs) {
    throw new TypeError('Pass a Blob: this runtime opens no paths.');
  }

  try {
    const file = await fs.openAsBlob(path);
    await file.slice(0, 1).arrayBuffer(); // Fails for a folder.
    return file;
  } catch (error) {
    throw new Error(`${path} cannot be opened.`, { cause: error });
  }
}

function framed(
  head: string,
  content: ReadableStream<Uint8Array>,
  tail: string,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return content.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: (out) => out.enqueue(encoder.encode(head)),
      flush: (out) => out.enqueue(encoder.encode(tail)),
    }),
  );
}
