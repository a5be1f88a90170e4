import type {
  ComAtprotoRepoApplyWrites,
  ComAtprotoRepoCreateRecord,
  ComAtprotoRepoPutRecord,
} from '@atproto/api';
import { Refusal } from '../refusal.ts';
import type { BlueskyDeps } from './deps.ts';
import { uriOf } from './record.ts';
import { isDemo } from './sessions.ts';
import { writeRecords, type Write, type Written } from './write-records.ts';

/** How many writes a PDS takes in one call. */
const maxWrites = 200;
const createType = 'com.atproto.repo.applyWrites#create';

/** An answer, or `lost` when the caller is to get none. */
export type Answer = object | 'lost';

/** Creates several records, all or none. */
export async function applyWrites(
  deps: BlueskyDeps,
  input: ComAtprotoRepoApplyWrites.InputSchema,
): Promise<Answer> {
  assertTarget(input);
  if (input.writes.length > maxWrites) {
    throw new Refusal(400, `Too many writes. Max: ${maxWrites}`);
  }
  const { posts, commit, isLost } = await writeRecords(deps, input.writes.map(toWrite));
  const results = posts.map(({ id, cid }) => ({
    $type: 'com.atproto.repo.applyWrites#createResult',
    uri: uriOf(id),
    cid,
    validationStatus: 'valid',
  }));
  return isLost ? 'lost' : { commit, results };
}

/** Creates one record. */
export async function createRecord(
  deps: BlueskyDeps,
  input: ComAtprotoRepoCreateRecord.InputSchema,
): Promise<Answer> {
  assertTarget(input);
  const { collection, rkey, record } = input;
  return one(await writeRecords(deps, [{ collection, rkey, value: record, over: 'nothing' }]));
}

/** Writes one record at a key that the caller chose, over what stands there if `swapRecord` lets it. */
export async function putRecord(
  deps: BlueskyDeps,
  input: ComAtprotoRepoPutRecord.InputSchema,
): Promise<Answer> {
  assertTarget(input);
  const { collection, rkey, record, swapRecord } = input;
  const over = swapRecord === undefined ? 'anything' : { cid: swapRecord };
  return one(await writeRecords(deps, [{ collection, rkey, value: record, over }]));
}

function one({ posts: [post], commit, isLost }: Written): Answer {
  if (post === undefined) {
    throw new Error('Nothing was written.');
  }
  const { id, cid } = post;
  return isLost ? 'lost' : { uri: uriOf(id), cid, commit, validationStatus: 'valid' };
}

function toWrite(write: ComAtprotoRepoApplyWrites.InputSchema['writes'][number]): Write {
  if (write.$type !== createType) {
    throw new Refusal(400, `The sandbox takes ${createType} only, not ${write.$type}.`);
  }
  const { collection, rkey, value } = write as ComAtprotoRepoApplyWrites.Create;
  return { collection, rkey, value, over: 'nothing' };
}

function assertTarget(input: { readonly repo: string; readonly swapCommit?: string }): void {
  if (!isDemo(input.repo)) {
    throw new Refusal(401, 'Authentication Required', { code: 'AuthenticationRequired' });
  }
  if (input.swapCommit !== undefined) {
    throw new Refusal(400, 'The sandbox has no commits to swap.');
  }
}
