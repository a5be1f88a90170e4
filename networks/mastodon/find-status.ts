import { having } from '../../domain/json-schema.ts';
import { normalized } from '../../domain/texts.ts';
import { answerReader, comparedText, jsonOf } from '../answer.ts';
import type { Access } from '../client.ts';
import type { Connection } from '../network.ts';
import { inTurn, type Reader } from '../in-turn.ts';
import { readHtml } from '../read-html.ts';
import { get, type MastodonAnswer } from './client.ts';
import { applicationSchema, type Status } from './statuses.ts';

/** Statuses of servers that do not support a call, or do not allow it to this token. */
const notOffered: ReadonlySet<number> = new Set([400, 403, 404, 405, 410, 422, 501]);

/** Servers allow 300 calls per account in five minutes, and a reconcile makes up to ten others. */
const mostSources = 100;
const mostCompared = 2_000_000;

/**
 * The statuses that have a text, judged by their source or, where the server offers none, by their HTML. Sources that
 * equal the text exactly come first.
 *
 * Each source is a call, so sources are read only for statuses whose HTML has the text. If none matches, those that
 * share words with the text are read, because a server may render a text differently (Markdown).
 */
export async function statusesWithText(
  access: Connection,
  statuses: readonly Status[],
  text: string,
): Promise<Status[]> {
  const sought = soughtText(text);
  const says = await eachOf(statuses, (status) => isSameContent(status, sought, access));
  const shown = statuses.filter((_, index) => says[index] === true);
  const most = Math.min(mostSources, Math.floor(mostCompared / sought.maxText));
  const found = await bySource(access, shown.slice(0, most), sought);
  // Beyond the limit of sources, the HTML decides: the account repeats one text.
  const all = [...found, ...shown.slice(most)];
  if (all.length > 0) {
    return byOurApplication(access, all);
  }

  const shared = await eachOf(statuses, (status) => sharedWords(status, sought, access));
  const likely = statuses
    .map((status, index) => ({ status, shared: shown.includes(status) ? 0 : (shared[index] ?? 0) }))
    .filter((other) => other.shared > 0)
    .toSorted((a, b) => b.shared - a.shared)
    .slice(0, most)
    .map(({ status }) => status);
  return byOurApplication(access, await bySource(access, likely, sought));
}

/** One after another. */
async function eachOf<T>(
  statuses: readonly Status[],
  read: (status: Status) => Promise<T>,
): Promise<T[]> {
  const all: T[] = [];
  for (const status of statuses) {
    all.push(await read(status));
  }

  return all;
}

async function bySource(
  access: Connection,
  statuses: readonly Status[],
  sought: SoughtText,
): Promise<Status[]> {
  const same: Status[] = [];
  const alike: Status[] = [];
  for (const status of statuses) {
    const source = await sourceOf(access, status);
    if (source !== null && isSameSource(source, sought)) {
      same.push(status);
    } else if (
      source === null ? await isSameContent(status, sought, access) : isAlike(source, sought)
    ) {
      alike.push(status);
    }
  }

  return [...same, ...alike];
}

const readSource = answerReader(having({ text: comparedText }));

async function sourceOf(access: Access, { id }: Status): Promise<string | null> {
  const path = `/api/v1/statuses/${encodeURIComponent(id)}/source`;
  return (await offered(access, path))?.as(readSource).text ?? null;
}

const readApplication = answerReader(applicationSchema);

/**
 * Omits statuses of other applications, where the server reports the application: a person may have posted the same
 * text by hand.
 */
async function byOurApplication(access: Access, statuses: Status[]): Promise<Status[]> {
  if (!statuses.some(({ application }) => application)) {
    return statuses;
  }

  const app = await offered(access, '/api/v1/apps/verify_credentials');
  const ours = app && readApplication(jsonOf(app))?.name;
  return statuses.filter(({ application }) => !ours || !application || application.name === ours);
}

/** @returns null when the server does not support the call. */
async function offered(access: Access, path: string): Promise<MastodonAnswer | null> {
  const answer = await get(access, path, 'reconcile');
  if (notOffered.has(answer.status)) {
    return null;
  }

  if (answer.status !== 200) {
    throw answer.refusal();
  }
  return answer;
}

/** The sent text, in the forms that statuses are compared in. Made once, because a text may be long. */
type SoughtText = {
  readonly letters: string;
  readonly bare: string;
  readonly normal: string;
  readonly words: ReadonlySet<string>;
  /** Longest possible source and HTML of this text, in UTF-16 units. A longer one is another status. */
  readonly maxText: number;
  readonly maxHtml: number;
};

/** A one-letter mention or hashtag becomes a link of up to 300 characters, the largest growth. */
const mostMarkup = 100;
const spareMarkup = 4000;

export const soughtText = (text: string): SoughtText => ({
  letters: lettersOf(text),
  bare: bare(text),
  normal: normal(text),
  words: wordsOf(text),
  maxText: text.length * 2 + spareMarkup,
  maxHtml: text.length * mostMarkup + spareMarkup,
});

/** Whether a status's source equals the sent text. Servers trim it, and may compose its characters. */
export const isSameSource = (source: string, sought: SoughtText): boolean =>
  source.length <= sought.maxText && normal(source) === sought.normal;

/**
 * Whether a status's source is the sent text after a server's changes: other quotation marks, spaces or dots, a mention
 * without its host. Compared like the HTML.
 */
export const isAlike = (source: string, sought: SoughtText): boolean =>
  source.length <= sought.maxText &&
  hasLetters(source, sought.letters) &&
  (sought.letters !== '' || bare(source) === sought.bare);

/** Whether a text has exactly these letters. Ends at the first other one, because NFKC makes 18 letters of `ﷺ`. */
function hasLetters(text: string, letters: string): boolean {
  let at = 0;
  for (const [run] of letterForm(text).matchAll(runs)) {
    if (!letters.startsWith(run, at)) {
      return false;
    }
    at += run.length;
  }

  return at === letters.length;
}

/**
 * Whether a status has the sent text, judged by its HTML alone.
 *
 * Servers turn marks into formatting, replace quotation marks and shorten links. So only letters and digits are
 * compared, links by their target, and mentions without their host. A false match is better than a miss, which would
 * post twice. A text without letters and digits is compared whole.
 */
export async function isSameContent(
  { content = '' }: Status,
  sought: SoughtText,
  reader: Reader,
): Promise<boolean> {
  if (content.length > sought.maxHtml) {
    return false;
  }

  const text = await plain(content, reader);
  return inTurn(reader, () => isAlike(text, sought));
}

async function sharedWords(
  { content = '' }: Status,
  { words, maxText, maxHtml }: SoughtText,
  reader: Reader,
): Promise<number> {
  const html = content.slice(0, maxHtml);
  const text = await plain(html, reader);
  return inTurn(reader, () => {
    const texts = [text, html.slice(0, 4 * maxText).replaceAll(/<[^<>]*>/gu, ' ')];
    const shown = wordsOf(texts.map((one) => one.slice(0, maxText)).join(' '));
    return [...words].filter((word) => shown.has(word)).length;
  });
}

/**
 * The text of a status's HTML, with the targets of links instead of their shortened texts. A link ends with its
 * paragraph at the latest.
 */
async function plain(html: string, reader: Reader): Promise<string> {
  let text = '';
  let isShown = true;
  const handlers: Parameters<typeof readHtml>[1] = {
    onopentag: (name, { href, class: classes = '', rel = '' }) => {
      if (name === 'a') {
        // Mentions and hashtags are links too, but their text is the original one.
        const isMarked = /\b(?:mention|hashtag)\b/u.test(classes) || rel.startsWith('tag');
        text += isMarked ? '' : (href ?? '');
        isShown = isMarked || href === undefined;
      }
    },
    onclosetag: (name) => {
      isShown ||= name === 'a' || name === 'p';
    },
    ontext: (piece) => {
      text += isShown ? piece : '';
    },
  };
  await readHtml(html, handlers, reader);
  return text;
}

const runs = /[\p{L}\p{N}]+/gu;

const letterForm = (text: string): string => normalized(withoutHosts(text), 'NFKC').toLowerCase();

const lettersOf = (text: string): string => (letterForm(text).match(runs) ?? []).join('');

const bare = (text: string): string => normalized(text, 'NFC').replaceAll(/\s/gu, '');

const normal = (text: string): string => normalized(text, 'NFC').replaceAll('\r\n', '\n').trim();

const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(normalized(text, 'NFC').toLowerCase().match(runs));

const withoutHosts = (text: string): string =>
  text.replaceAll(
    /(?<![\w@/])(@\w+(?:[.-]+\w+)*)@[\p{L}\p{N}][\p{L}\p{N}.:-]*[\p{L}\p{N}]/gu,
    '$1',
  );
