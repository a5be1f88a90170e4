import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

const maxBytes = 1024 * 1024;

/**
 * The fields of a request's body: JSON, a form, or a form with parts. Empty when there is no body.
 *
 * @throws Refusal 413 over 1 MB, 415 for another type, 400 for what cannot be read or is no object.
 */
export async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await readBytes(request);
  const type = request.headers['content-type'] ?? '';
  if (bytes.length === 0) {
    return {};
  }
  if (/^application\/json\b/iv.test(type)) {
    return parseJson(bytes.toString('utf8'));
  }
  if (/^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/iv.test(type)) {
    const form = new Response(bytes, { headers: { 'content-type': type } }).formData();
    return Object.fromEntries(
      await form.catch(() => {
        throw new Refusal(400, 'The form cannot be read.');
      }),
    );
  }
  throw new Refusal(
    415,
    `The sandbox reads JSON and forms, not ${type || 'a body without a type'}.`,
  );
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  // The request lives on after a refusal, so that its answer can be sent.
  const body: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > maxBytes) {
        break;
      }
      chunks.push(chunk);
    }
  } catch {
    throw new Refusal(400, 'The request broke off.');
  }
  if (length > maxBytes) {
    throw new Refusal(413, `A request may have ${maxBytes} bytes.`, { code: 'PayloadTooLarge' });
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
