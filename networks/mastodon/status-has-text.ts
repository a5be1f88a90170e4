import { Parser } from 'htmlparser2';
import { normalized } from '../../domain/texts.ts';
import { answerReader, jsonOf } from '../answer.ts';
import type { Access } from '../access-token.ts';
import { get, refusal, unreadable } from './client.ts';
import { applicationSchema, type Application, type Status } from './statuses.ts';

/** What a server answers that does not offer something, or not to this token. */
const notOffered: ReadonlySet<number> = new Set([400, 403, 404, 405, 410, 422, 501]);

/** Servers take 300 calls of an account in five minutes, and a look-up makes ten others at most. */
const mostSources = 100;

/**
 * Those of an account's statuses that have a text, by their raw sources or, where the server offers none, by their
 * HTML. Sources that are the text to the letter come first.
 *
 * The source of each is a call, so those are asked for whose HTML has the text; and only if none of them does, others
 * that have words of it, as a server may show a text in other words than it was sent (Markdown).
 *
 * @throws NetworkError with `taken: 'unknown'` when the server does not tell now.
 */
export async function statusesWithText(
  access: Access,
  statuses: readonly Status[],
  text: string,
): Promise<Status[]> {
  const shown = statuses.filter((status) => isSameContent(status, text));
  const found = await bySource(access, shown.slice(0, mostSources), text);
  // Of an account that says the same all day no more is asked: what is shown is enough.
  found.push(...shown.slice(mostSources));
  if (found.length > 0) {
    return byOurApplication(access, found);
  }

  const others = statuses
    .filter((status) => !shown.includes(status))
    .map((status) => ({ status, shared: sharedWords(status, text) }))
    .filter(({ shared }) => shared > 0)
    .toSorted((a, b) => b.shared - a.shared)
    .slice(0, mostSources);
  const likely = others.map(({ status }) => status);
  return byOurApplication(access, await bySource(access, likely, text));
}

async function bySource(
  access: Access,
  statuses: readonly Status[],
  text: string,
): Promise<Status[]> {
  const same: Status[] = [];
  const alike: Status[] = [];
  for (const status of statuses) {
    const source = await sourceOf(access, status);
    if (source !== null && isSameSource(source, text)) {
      same.push(status);
    } else if (source === null ? isSameContent(status, text) : isAlikeSource(source, text)) {
      alike.push(status);
    }
  }

  return [...same, ...alike];
}

const readSource = answerReader<{ readonly text: string }>({
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string' } },
});

/** @returns null when the server does not offer it. */
async function sourceOf(access: Access, { id }: Status): Promise<string | null> {
  const path = `/api/v1/statuses/${encodeURIComponent(id)}/source`;
  const source = await offered(access, path);
  if (source === null) {
    return null;
  }

  const read = readSource(source);
  if (!read) {
    throw unreadable('reconcile');
  }
  return read.text;
}

/** Of `GET /api/v1/apps/verify_credentials`. */
const readApplication = answerReader<Application>(applicationSchema);

/**
 * Leaves out what another application made, where the server tells: a person may have posted the same by hand, and that
 * is not the post that is looked for.
 */
async function byOurApplication(access: Access, statuses: Status[]): Promise<Status[]> {
  if (!statuses.some(({ application }) => application)) {
    return statuses;
  }

  const ours = readApplication(await offered(access, '/api/v1/apps/verify_credentials'))?.name;
  return statuses.filter(
    ({ application }) => ours === undefined || !application || application.name === ours,
  );
}

/** @returns what the server answers, or null when it does not offer this. */
async function offered(access: Access, path: string): Promise<unknown> {
  const response = await get(access, path, 'reconcile');
  if (notOffered.has(response.status)) {
    return null;
  }

  if (response.status !== 200) {
    throw refusal(response, { purpose: 'reconcile', accessToken: access.accessToken });
  }
  return jsonOf(response);
}

/** Whether the raw text of a status is the text that was sent. Servers trim it, and may compose its characters. */
export const isSameSource = (source: string, text: string): boolean =>
  normal(source) === normal(text);

/**
 * Whether the raw text of a status is what a server may have made of the text: other quotation marks, spaces or dots, a
 * mention without its host. Compared as its HTML is.
 */
const isAlikeSource = (source: string, text: string): boolean => isAlike(source, text);

/** How many of a text's words a status has, in its HTML or its links. */
function sharedWords({ content = '' }: Status, text: string): number {
  const shown = wordsOf(`${plain(content)} ${content.replaceAll(/<[^<>]*>/gu, ' ')}`);
  return [...wordsOf(text)].filter((word) => shown.has(word)).length;
}

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(
    normalized(text, 'NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu),
  );

const normal = (text: string): string => normalized(text, 'NFC').replaceAll('\r\n', '\n').trim();

/**
 * Whether a status says what was sent, by its HTML alone.
 *
 * Servers turn marks into formatting, quotation marks into others and links into shortened ones, so only letters
 * and digits are compared, links by their target, and mentions without their host. Rather too generous than too
 * strict: to miss our own status would post it twice. A text without letters and digits is compared whole.
 */
export const isSameContent = ({ content = '' }: Status, text: string): boolean =>
  isAlike(plain(content), text);

function isAlike(said: string, text: string): boolean {
  const [letters, sent] = [lettersOf(said), lettersOf(text)];
  return letters === sent && (sent !== '' || bare(said) === bare(text));
}

type Attributes = Readonly<Record<string, string>>;

/** The text of a status's HTML, with the target in place of a link's shortened words. In time linear to its length. */
function plain(html: string): string {
  let text = '';
  let isShown = true;
  const parser = new Parser({
    onopentag: (name, attributes: Attributes) => {
      if (name === 'a' && attributes['href'] !== undefined && !isMarked(attributes)) {
        text += attributes['href'];
        isShown = false;
      }
    },
    onclosetag: (name) => {
      isShown ||= name === 'a';
    },
    ontext: (words) => {
      text += isShown ? words : '';
    },
  });
  parser.end(html);
  return text;
}

/** Mentions and hashtags are links too, but their words are what was written. */
const isMarked = ({ class: names = '', rel = '' }: Attributes): boolean =>
  /\b(?:mention|hashtag)\b/u.test(names) || rel.startsWith('tag');

const lettersOf = (text: string): string =>
  normalized(withoutHosts(text), 'NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const bare = (text: string): string => normalized(text, 'NFC').replaceAll(/\s/gu, '');

const withoutHosts = (text: string): string =>
  text.replaceAll(
    /(?<![\w@/])(@\w+(?:[.-]+\w+)*)@[\p{L}\p{N}][\p{L}\p{N}.:-]*[\p{L}\p{N}]/gu,
    '$1',
  );
