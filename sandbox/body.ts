import type { IncomingMessage } from 'node:http';
import { maxStoredFileBytes } from './files.ts';
import { Refusal } from './refusal.ts';

const maxBytes = 1024 * 1024;

/**
 * Reads the fields of a request's body: JSON, a form, or a multipart form. Empty when there is no body.
 *
 * @throws Refusal 413 over 1 MB, 415 for another type, 400 for an unreadable body or one that is not an object.
 */
export async function readRequestBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await readBytes(request, maxBytes);
  const type = request.headers['content-type'] ?? '';
  if (bytes.length === 0) {
    return {};
  }
  if (/^application\/json\b/iv.test(type)) {
    return parseJson(bytes.toString('utf8'));
  }
  if (/^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/iv.test(type)) {
    const form = await parseForm(bytes, type);
    // A list is a field whose name ends in brackets, repeated for each value.
    const names = new Set(form.keys());
    return Object.fromEntries(
      [...names].map((name) =>
        name.endsWith('[]') ? [name.slice(0, -2), form.getAll(name)] : [name, form.get(name)],
      ),
    );
  }
  throw new Refusal(
    415,
    `The sandbox reads JSON and forms, not ${type || 'a body without a type'}.`,
  );
}

/** Reads the file of a multipart form like Mastodon's, or null when there is none. @throws Refusal like `readRequestBody`. */
export async function readFormFile(
  request: IncomingMessage,
): Promise<{ bytes: Buffer; description: string | null } | null> {
  // The other parts are small.
  const bytes = await readBytes(request, maxStoredFileBytes + maxBytes);
  const form = await parseForm(bytes, request.headers['content-type'] ?? '');
  const [file, description] = [form.get('file'), form.get('description')];
  return file instanceof File
    ? {
        bytes: Buffer.from(await file.arrayBuffer()),
        description: typeof description === 'string' ? description : null,
      }
    : null;
}

/**
 * Reads a multipart form. @param most Limit in bytes, plus 1 MB. @throws Refusal 413 above it, 400 for an unreadable
 * form.
 */
export async function readFormBody(request: IncomingMessage, most: number): Promise<FormData> {
  const bytes = await readBytes(request, most + maxBytes);
  return parseForm(bytes, request.headers['content-type'] ?? '');
}

/** Reads a raw body. @throws Refusal 413 when it is larger than a file may be. */
export const readRaw = (request: IncomingMessage): Promise<Buffer> =>
  readBytes(request, maxStoredFileBytes);

async function parseForm(bytes: Buffer, type: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': type },
    }).formData();
  } catch {
    throw new Refusal(400, 'The form cannot be read.');
  }
}

async function readBytes(request: IncomingMessage, most: number): Promise<Buffer> {
  // The request stays open after a refusal, so that the response can be sent.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > most) {
        break;
      }
      chunks.push(chunk);
    }
  } catch {
    throw new Refusal(400, 'The request broke off.');
  }
  if (length > most) {
    throw new Refusal(413, `A request may have ${most} bytes.`, { code: 'PayloadTooLarge' });
  }
  return Buffer.concat(chunks);
}

function parseJson(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'The body is not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal(400, 'The body must be a JSON object.');
  }
  return { ...value };
}
