import { jsonOf } from '../answer.ts';
import { readApplication, readSource, type Status } from './answers.ts';
import { get, type Access } from './client.ts';
import { refusal, unreadable } from './errors.ts';
import { isAlikeSource, isSameContent, isSameSource, sharedWords } from './same-text.ts';

/** What a server answers that does not offer something, or not to this token. */
const notOffered: ReadonlySet<number> = new Set([400, 403, 404, 405, 410, 422, 501]);

/** Servers take 300 calls of an account in five minutes, and a look makes ten others at most. */
const mostSources = 100;

/**
 * Those of an account's statuses that say a text, judged by their raw sources or, where the server offers none, by their
 * HTML. Sources that are the text to the letter come first.
 *
 * The source of each is a call, so those are asked for whose HTML says the text; and only if none of them does, others
 * that have words of it, as a server may show a text in other words than it was sent (Markdown).
 *
 * @throws NetworkError with `taken: 'unknown'` when the server does not tell now.
 */
export async function statusesSaying(
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

/** @returns null when the server does not offer it. */
async function sourceOf(access: Access, { id }: Status): Promise<string | null> {
  const path = `/api/v1/statuses/${encodeURIComponent(id)}/source`;
  const source = await offered(access, path);
  if (source === null) {
    return null;
  }

  const read = readSource(source);
  if (!read) {
    throw unreadable('look');
  }
  return read.text;
}

/**
 * Leaves out what another application made, where the server tells: somebody may have posted the same by hand, and that
 * is not the post whose fate is looked for.
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
  const response = await get(access, path, 'look');
  if (notOffered.has(response.status)) {
    return null;
  }

  if (response.status !== 200) {
    throw refusal(response, { purpose: 'look', accessToken: access.accessToken });
  }
  return jsonOf(response);
}
