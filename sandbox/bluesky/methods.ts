import type {
  AppBskyActorGetProfile,
  AppBskyFeedGetPosts,
  ComAtprotoIdentityResolveHandle,
  ComAtprotoRepoApplyWrites,
  ComAtprotoRepoCreateRecord,
  ComAtprotoRepoDeleteRecord,
  ComAtprotoRepoGetRecord,
  ComAtprotoRepoListRecords,
  ComAtprotoRepoPutRecord,
  ComAtprotoServerCreateSession,
} from '@atproto/api';
import { accountNamed, accountOf } from './account.ts';
import { Refusal } from '../refusal.ts';
import { uploadBlob } from './blobs.ts';
import type { BlueskyDeps } from './deps.ts';
import { getPosts, getProfile } from './read-figures.ts';
import { getRecord, listRecords } from './read-records.ts';
import { isBy } from '../post.ts';
import { isBlueskyPost } from './post.ts';
import { postCollection, uriOf } from './record.ts';
import { videoMethods } from './video/methods.ts';
import type { Answer, Method } from './method.ts';
import { createSession, describeSession, newSession } from './sessions.ts';
import { commitOf, writeRecords, type Write, type Written } from './write-records.ts';

/** The casts are safe: `routes.ts` has checked each input against the lexicon that its type is generated from. */
export const methods: Readonly<Record<string, Method>> = {
  ...videoMethods,
  'com.atproto.server.createSession': {
    verb: 'POST',
    run: (deps, input) => createSession(deps, input as ComAtprotoServerCreateSession.InputSchema),
  },
  'com.atproto.server.refreshSession': {
    verb: 'POST',
    needs: 'refresh',
    run: (deps) => newSession(deps),
  },
  'com.atproto.server.getSession': {
    verb: 'GET',
    needs: 'access',
    run: ({ by }) => describeSession(by.account),
  },
  'com.atproto.identity.resolveHandle': {
    verb: 'GET',
    run: (_, input) => resolveHandle(input as ComAtprotoIdentityResolveHandle.QueryParams),
  },
  'com.atproto.repo.applyWrites': {
    verb: 'POST',
    needs: 'access',
    run: (deps, input) => applyWrites(deps, input as ComAtprotoRepoApplyWrites.InputSchema),
  },
  'com.atproto.repo.createRecord': {
    verb: 'POST',
    needs: 'access',
    run: (deps, input) => createRecord(deps, input as ComAtprotoRepoCreateRecord.InputSchema),
  },
  'com.atproto.repo.putRecord': {
    verb: 'POST',
    needs: 'access',
    run: (deps, input) => putRecord(deps, input as ComAtprotoRepoPutRecord.InputSchema),
  },
  'com.atproto.repo.deleteRecord': {
    verb: 'POST',
    needs: 'access',
    run: (deps, input) => deleteRecord(deps, input as ComAtprotoRepoDeleteRecord.InputSchema),
  },
  'com.atproto.repo.uploadBlob': {
    verb: 'POST',
    needs: 'access',
    takesFile: true,
    run: ({ files }, input) => uploadBlob(files, input as Buffer),
  },
  'com.atproto.repo.getRecord': {
    verb: 'GET',
    run: (deps, input) => getRecord(deps, input as ComAtprotoRepoGetRecord.QueryParams),
  },
  'com.atproto.repo.listRecords': {
    verb: 'GET',
    run: (deps, input) => listRecords(deps, input as ComAtprotoRepoListRecords.QueryParams),
  },
  'app.bsky.feed.getPosts': {
    verb: 'GET',
    needs: 'access',
    run: (deps, input) => getPosts(deps, input as AppBskyFeedGetPosts.QueryParams),
  },
  'app.bsky.actor.getProfile': {
    verb: 'GET',
    needs: 'access',
    run: (deps, input) => getProfile(deps, input as AppBskyActorGetProfile.QueryParams),
  },
};

function resolveHandle({ handle }: ComAtprotoIdentityResolveHandle.QueryParams) {
  const name = accountNamed(handle);
  if (name === null) {
    throw new Refusal(400, 'Unable to resolve handle');
  }
  return { did: accountOf(name).did };
}

/** A PDS's limit of writes per call. */
const maxWrites = 200;
const createType = 'com.atproto.repo.applyWrites#create';

/** Creates several records, all or none. */
async function applyWrites(
  deps: BlueskyDeps,
  input: ComAtprotoRepoApplyWrites.InputSchema,
): Promise<Answer> {
  assertTarget(deps, input);
  if (input.writes.length > maxWrites) {
    throw new Refusal(400, `Too many writes. Max: ${maxWrites}`);
  }
  const { posts, commit, answer } = await writeRecords(deps, input.writes.map(toWrite));
  const results = posts.map((post) => ({
    $type: 'com.atproto.repo.applyWrites#createResult',
    uri: uriOf(post),
    cid: post.cid,
    validationStatus: 'valid',
  }));
  return answer === 'normal' ? { commit, results } : answer;
}

async function createRecord(
  deps: BlueskyDeps,
  input: ComAtprotoRepoCreateRecord.InputSchema,
): Promise<Answer> {
  assertTarget(deps, input);
  const { collection, rkey, record } = input;
  return one(await writeRecords(deps, [{ collection, rkey, value: record, over: 'nothing' }]));
}

/** Writes a record at a key of the caller, over the existing one if `swapRecord` allows it. */
async function putRecord(
  deps: BlueskyDeps,
  input: ComAtprotoRepoPutRecord.InputSchema,
): Promise<Answer> {
  assertTarget(deps, input);
  const { collection, rkey, record, swapRecord } = input;
  const over = swapRecord === undefined ? 'anything' : { cid: swapRecord };
  return one(await writeRecords(deps, [{ collection, rkey, value: record, over }]));
}

/** Deletes a record. Without one, answers without a commit, like a PDS. */
async function deleteRecord(
  deps: BlueskyDeps,
  input: ComAtprotoRepoDeleteRecord.InputSchema,
): Promise<Answer> {
  assertTarget(deps, input);
  const { store, nextTid, by } = deps;
  const post = store.find('bluesky', input.rkey);
  if (input.collection !== postCollection || !isBlueskyPost(post) || !isBy(by.account)(post)) {
    return {};
  }
  if (input.swapRecord !== undefined && input.swapRecord !== post.cid) {
    throw new Refusal(400, `Record was at ${post.cid}`, { code: 'InvalidSwap' });
  }
  await store.remove(post);
  return { commit: await commitOf([], nextTid()) };
}

function one({ posts: [post], commit, answer }: Written): Answer {
  if (post === undefined) {
    throw new Error('Nothing was written.');
  }
  const { cid } = post;
  return answer === 'normal'
    ? { uri: uriOf(post), cid, commit, validationStatus: 'valid' }
    : answer;
}

function toWrite(write: ComAtprotoRepoApplyWrites.InputSchema['writes'][number]): Write {
  if (write.$type !== createType) {
    throw new Refusal(400, `The sandbox takes ${createType} only, not ${write.$type}.`);
  }
  const { collection, rkey, value } = write as ComAtprotoRepoApplyWrites.Create;
  return { collection, rkey, value, over: 'nothing' };
}

function assertTarget(
  { by }: BlueskyDeps,
  input: { readonly repo: string; readonly swapCommit?: string },
): void {
  if (accountNamed(input.repo) !== by.account) {
    throw new Refusal(401, 'Authentication Required', { code: 'AuthenticationRequired' });
  }
  if (input.swapCommit !== undefined) {
    throw new Refusal(400, 'The sandbox has no commits to swap.');
  }
}
