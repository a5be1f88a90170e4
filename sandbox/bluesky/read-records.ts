import type { ComAtprotoRepoGetRecord, ComAtprotoRepoListRecords } from '@atproto/api';
import type { AccountName } from '../account-name.ts';
import { isBy } from '../post.ts';
import { accountNamed } from './account.ts';
import { isBlueskyPost, type BlueskyPost } from './post.ts';
import type { SandboxDeps } from '../deps.ts';
import { Refusal } from '../refusal.ts';
import { postCollection, uriOf } from './record.ts';
import { alteredText, type Store } from '../store.ts';

const defaultLimit = 50;
/** The CID of an altered record: any but its own. */
const otherCid = 'bafyreidfayvfuwqa7qlnopdjiqrxzs6blmoeu4rujcjtnci5beludirz2a';

/** @throws Refusal 400 `RecordNotFound`. */
export function getRecord({ store }: SandboxDeps, query: ComAtprotoRepoGetRecord.QueryParams) {
  const author = authorOf(query.repo);
  const post = query.collection === postCollection ? store.find('bluesky', query.rkey) : undefined;
  const isWanted =
    isBlueskyPost(post) &&
    isBy(author)(post) &&
    !store.isHidden(post) &&
    (query.cid === undefined || post.cid === query.cid);
  if (!isWanted) {
    const message = `Could not locate record: at://${query.repo}/${query.collection}/${query.rkey}`;
    throw new Refusal(400, message, { code: 'RecordNotFound' });
  }
  return present(store, post);
}

/** A page of records by key, highest first unless `reverse`. The cursor is the last key of the page. */
export function listRecords({ store }: SandboxDeps, query: ComAtprotoRepoListRecords.QueryParams) {
  const author = authorOf(query.repo);
  const { limit = defaultLimit, cursor, reverse = false } = query;
  const posts = store
    .all()
    .filter(isBlueskyPost)
    .filter(isBy(author))
    .filter((post) => !store.isHidden(post));
  const page = (query.collection === postCollection ? posts : [])
    .filter(({ id }) => cursor === undefined || (reverse ? id > cursor : id < cursor))
    .toSorted((a, b) => (a.id < b.id === reverse ? -1 : 1))
    .slice(0, limit);
  const last = page.at(-1);
  return {
    records: page.map((post) => present(store, post)),
    ...(last === undefined ? {} : { cursor: last.id }),
  };
}

function present({ isAltered }: Pick<Store, 'isAltered'>, post: BlueskyPost) {
  const { cid, record: value } = post;
  return isAltered(post)
    ? { uri: uriOf(post), cid: otherCid, value: { ...value, text: alteredText } }
    : { uri: uriOf(post), cid, value };
}

function authorOf(repo: string): AccountName {
  const name = accountNamed(repo);
  if (name === null) {
    throw new Refusal(400, `Could not find repo: ${repo}`);
  }
  return name;
}
