import { setImmediate } from 'node:timers/promises';
import { answerReader, jsonOf } from '../answer.ts';
import type { Access } from '../access-token.ts';
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
  const sought = soughtText(text);
  const says = await eachInTurn(statuses, (status) => isSameContent(status, sought));
  const shown = statuses.filter((_, index) => says[index] === true);
  const found = await bySource(access, shown.slice(0, mostSources), sought);
  // Of an account that says the same all day no more is asked: what is shown is enough.
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

/** Lets other work of the process go on between two statuses: a server may make each of them as slow as it can. */
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
  access: Access,
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
