import { send } from '../../sdk/src/request.ts';
import { command } from '../command.ts';
import { UsageError } from '../failures.ts';
import { given, idempotencyKey as keyFlag, text, texts, toggle } from '../flags.ts';
import { readInput, readText } from '../input.ts';

const methods = ['GET', 'POST', 'PATCH', 'DELETE'];

export const api = command({
  brief: 'Calls the API, and prints its answer',
  description:
    'Calls any path of the API, below /api/v1. Fields become the query of a GET and the JSON body of other calls: name=text, or name:=JSON for numbers, lists and objects.',
  examples: [
    'api GET /posts -f status=draft --paginate',
    `api POST /posts -f body=Hello -f 'channel_ids:=["01a1fb38-…"]' -f schedule_in_minutes:=5`,
    'api PATCH /posts/01a1fb38-… --input post.json',
  ],
  args: { method: methods.join(', '), path: 'Such as /posts' },
  flags: {
    field: texts('A field, as name=text or name:=JSON', 'NAME=TEXT'),
    input: text('A file with the JSON body; - for standard input', 'FILE'),
    paginate: toggle('Every page of a list, each in a line'),
    idempotencyKey: keyFlag('The same key with the same request creates one thing'),
  },
  aliases: { f: 'field' },
  async *run({ access }, { method: word, path, field = [], input, paginate, idempotencyKey }) {
    const method = word.toUpperCase();
    if (!methods.includes(method) || !path.startsWith('/')) {
      throw new UsageError('Such as: punctual api GET /posts');
    }

    const isRead = method === 'GET';
    const fields = fieldsOf(field);
    if (input !== undefined && (isRead || field.length > 0)) {
      throw new UsageError('--input is the whole body of a call that is not GET: leave out -f.');
    }

    const json = input === undefined ? JSON.stringify(fields) : await bodyFrom(input);
    const hasBody = input !== undefined || (!isRead && field.length > 0);
    const { url: baseUrl, apiKey } = await access();
    const call = {
      method,
      path: path.replace(/^\/api\/v1(?=\/)/v, ''),
      repeat: isRead ? 'safe' : idempotencyKey === undefined ? 'never' : 'by key',
      ...(hasBody ? { body: { value: json, type: 'application/json' } } : {}),
    } as const;
    for (let query: object | null = isRead ? fields : {}; query !== null;) {
      const options = given({ idempotencyKey });
      const answer: unknown = await send(
        { baseUrl, apiKey },
        { ...call, query },
        options,
        readAnswer,
      );
      yield {
        data: answer,
        text: typeof answer === 'string' ? answer.trimEnd() : escapedJson(answer),
      };
      query = paginate ? nextPage(answer, query) : null;
    }
  },
});

/** Has escapes for what a terminal would obey and JSON allows. */
const escapedJson = (answer: unknown): string =>
  JSON.stringify(answer, undefined, 2).replaceAll(
    /[\u{7f}-\u{9f}\p{Zl}\p{Zp}\p{Bidi_Control}]/gv,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

async function bodyFrom(input: string): Promise<string> {
  const body = input === '-' ? await readInput() : await readText(input);
  parseJson('--input', body);
  return body;
}

const readAnswer = (response: Response): Promise<unknown> =>
  response.headers.get('content-type')?.startsWith('application/json')
    ? response.json()
    : response.text();

function fieldsOf(fields: readonly string[]): Record<string, unknown> {
  const pairs = fields.map((field) => {
    const { name, isJson, value } =
      /^(?<name>[\w.]+)(?<isJson>:)?=(?<value>.*)$/sv.exec(field)?.groups ?? {};
    if (name === undefined || value === undefined) {
      throw new UsageError(`-f "${field}" must be name=text or name:=JSON.`);
    }

    return [name, isJson ? parseJson(`-f ${name}`, value) : value] as const;
  });
  return Object.fromEntries(pairs);
}

export function parseJson(what: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new UsageError(`${what} is not valid JSON.`);
  }
}

/** The query of the page after an answer, in each of the API's three ways; null after the last page. */
function nextPage(answer: unknown, query: object): object | null {
  const page = (answer ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof page['next_cursor'] === 'string') {
    return { ...query, cursor: page['next_cursor'] };
  }

  if (page['has_more'] !== true) {
    return null;
  }

  if (page['next_after'] !== undefined) {
    return { ...query, after: page['next_after'] };
  }

  const items = Object.values(page).find((value) => Array.isArray(value)) ?? [];
  const { offset = 0 } = query as { readonly offset?: unknown };
  return { ...query, offset: Number(offset) + items.length };
}
