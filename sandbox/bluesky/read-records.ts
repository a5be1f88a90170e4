import type { ComAtprotoRepoGetRecord, ComAtprotoRepoListRecords } from '@atproto/api';
import { isBlueskyPost, type BlueskyPost } from './post.ts';
import type { SandboxDeps } from '../deps.ts';
import { Refusal } from '../refusal.ts';
import type { Script } from '../script.ts';
import { postCollection, uriOf } from './record.ts';
import { isDemo } from './sessions.ts';

const defaultLimit = 50;

/** @throws Refusal 400 `RecordNotFound`. */
export function getRecord(
  { store, script }: SandboxDeps,
  query: ComAtprotoRepoGetRecord.QueryParams,
) {
  assertAnswers(script, query.repo);
  const post = query.collection === postCollection ? store.find('bluesky', query.rkey) : undefined;
  const isWanted =
    isBlueskyPost(post) &&
    !store.isHidden(post) &&
    (query.cid === undefined || post.cid === query.cid);
  if (!isWanted) {
    const message = `Could not locate record: at://${query.repo}/${query.collection}/${query.rkey}`;
    throw new Refusal(400, message, { code: 'RecordNotFound' });
  }
  return present(post);
}

/** One page of records by their keys, the highest first unless `reverse`. The cursor is the last key of the page. */
export function listRecords(
  { store, script }: SandboxDeps,
  query: ComAtprotoRepoListRecords.QueryParams,
) {
  assertAnswers(script, query.repo);
  const { limit = defaultLimit, cursor, reverse = false } = query;
  const posts = store
    .all()
    .filter(isBlueskyPost)
    .filter((post) => !store.isHidden(post));
  const page = (query.collection === postCollection ? posts : [])
    .filter(({ id }) => cursor === undefined || (reverse ? id > cursor : id < cursor))
    .toSorted((a, b) => (a.id < b.id === reverse ? -1 : 1))
    .slice(0, limit);
  const last = page.at(-1);
  return { records: page.map(present), ...(last === undefined ? {} : { cursor: last.id }) };
}

function present(post: BlueskyPost) {
  return { uri: uriOf(post.id), cid: post.cid, value: post.record };
}

function assertAnswers(script: Script, repo: string): void {
  if (script.isBlind('bluesky')) {
    throw new Refusal(503, 'Service Unavailable', { code: 'ServiceUnavailable' });
  }
  if (!isDemo(repo)) {
    throw new Refusal(400, `Could not find repo: ${repo}`);
  }
}
