import { setImmediate } from 'node:timers/promises';
import { answerReader, jsonOf } from '../answer.ts';
import type { TokenAccess } from '../access-token.ts';
import { get, refusal, unreadable } from './client.ts';
import {
  isAlikeSource,
  isSameContent,
  isSameSource,
  sharedWords,
  soughtText,
  type SoughtText,
} from './same-text.ts';
import { applicationSchema, type Application, type Status } from './statuses.ts';

/** Statuses of servers that do not support a call, or do not allow it to this token. */
const notOffered: ReadonlySet<number> = new Set([400, 403, 404, 405, 410, 422, 501]);

/** Servers allow 300 calls per account in five minutes, and a reconcile makes up to ten others. */
const mostSources = 100;

/**
 * The statuses that have a text, judged by their source or, where the server offers none, by their HTML. Sources that
 * equal the text exactly come first.
 *
 * Each source is a call, so sources are read only for statuses whose HTML has the text. If none matches, those that
 * share words with the text are read, because a server may render a text differently (Markdown).
 *
 * @throws NetworkError with `accepted: 'unknown'` when the server cannot answer at the moment.
 */
export async function statusesWithText(
  access: TokenAccess,
  statuses: readonly Status[],
  text: string,
): Promise<Status[]> {
  const sought = soughtText(text);
  const says = await eachInTurn(statuses, (status) => isSameContent(status, sought));
  const shown = statuses.filter((_, index) => says[index] === true);
  const found = await bySource(access, shown.slice(0, mostSources), sought);
  // Beyond the limit of sources, the HTML decides: the account repeats one text.
  const all = [...found, ...shown.slice(mostSources)];
  if (all.length > 0) {
    return byOurApplication(access, all);
  }

  const shared = await eachInTurn(statuses, (status) => sharedWords(status, sought));
  const likely = statuses
    .map((status, index) => ({ status, shared: shown.includes(status) ? 0 : (shared[index] ?? 0) }))
    .filter((other) => other.shared > 0)
    .toSorted((a, b) => b.shared - a.shared)
    .slice(0, mostSources)
    .map(({ status }) => status);
  return byOurApplication(access, await bySource(access, likely, sought));
}

/** Yields to other work of the process after each status, because a hostile server can make each one slow to read. */
async function eachInTurn<T>(
  statuses: readonly Status[],
  read: (status: Status) => T,
): Promise<T[]> {
  const all: T[] = [];
  for (const status of statuses) {
    all.push(read(status));
    await setImmediate();
  }

  return all;
}

async function bySource(
  access: TokenAccess,
  statuses: readonly Status[],
  sought: SoughtText,
): Promise<Status[]> {
  const same: Status[] = [];
  const alike: Status[] = [];
  for (const status of statuses) {
    const source = await sourceOf(access, status);
    if (source !== null && isSameSource(source, sought)) {
      same.push(status);
    } else if (source === null ? isSameContent(status, sought) : isAlikeSource(source, sought)) {
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

/** @returns null when the server does not offer sources. */
async function sourceOf(access: TokenAccess, { id }: Status): Promise<string | null> {
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

/** Reads `GET /api/v1/apps/verify_credentials`. */
const readApplication = answerReader<Application>(applicationSchema);

/**
 * Omits statuses of other applications, where the server reports the application: a person may have posted the same
 * text by hand.
 */
async function byOurApplication(access: TokenAccess, statuses: Status[]): Promise<Status[]> {
  if (!statuses.some(({ application }) => application)) {
    return statuses;
  }

  const ours = readApplication(await offered(access, '/api/v1/apps/verify_credentials'))?.name;
  return statuses.filter(
    ({ application }) => ours === undefined || !application || application.name === ours,
  );
}

/** @returns the response, or null when the server does not support the call. */
async function offered(access: TokenAccess, path: string): Promise<unknown> {
  const response = await get(access, path, 'reconcile');
  if (notOffered.has(response.status)) {
    return null;
  }

  if (response.status !== 200) {
    throw refusal(response, { purpose: 'reconcile', accessToken: access.accessToken });
  }
  return jsonOf(response);
}
