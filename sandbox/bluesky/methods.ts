import type {
  ComAtprotoIdentityResolveHandle,
  ComAtprotoRepoApplyWrites,
  ComAtprotoRepoCreateRecord,
  ComAtprotoRepoGetRecord,
  ComAtprotoRepoListRecords,
  ComAtprotoRepoPutRecord,
  ComAtprotoServerCreateSession,
} from '@atproto/api';
import { blueskyAccount } from '../accounts.ts';
import { Refusal } from '../refusal.ts';
import { uploadBlob } from './blobs.ts';
import type { BlueskyDeps } from './deps.ts';
import { applyWrites, createRecord, putRecord, type Answer } from './procedures.ts';
import { getRecord, listRecords } from './read-records.ts';
import { createSession, describeSession, isDemo, newSession } from './sessions.ts';
import type { TokenKind } from './tokens.ts';

export type Method = {
  readonly verb: 'GET' | 'POST';
  /** The token that the caller must show. */
  readonly needs?: TokenKind;
  /** The body is a file, and no JSON. */
  readonly takesFile?: true;
  /** @param input The query or the body, after the check against the method's lexicon. */
  readonly run: (deps: BlueskyDeps, input: unknown) => Answer | Promise<Answer>;
};

/** The casts are safe: `routes.ts` has checked each input against the lexicon that its type is generated from. */
export const methods: Readonly<Record<string, Method>> = {
  'com.atproto.server.createSession': {
    verb: 'POST',
    run: ({ tokens }, input) =>
      createSession(tokens, input as ComAtprotoServerCreateSession.InputSchema),
  },
  'com.atproto.server.refreshSession': {
    verb: 'POST',
    needs: 'refresh',
    run: ({ tokens }) => newSession(tokens),
  },
  'com.atproto.server.getSession': { verb: 'GET', needs: 'access', run: describeSession },
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
  'com.atproto.repo.uploadBlob': {
    verb: 'POST',
    needs: 'access',
    takesFile: true,
    run: ({ files }, input) => uploadBlob(files, input as Buffer),
  },
  'com.atproto.repo.getRecord': {
    verb: 'GET',
    run: ({ store }, input) => getRecord(store, input as ComAtprotoRepoGetRecord.QueryParams),
  },
  'com.atproto.repo.listRecords': {
    verb: 'GET',
    run: ({ store }, input) => listRecords(store, input as ComAtprotoRepoListRecords.QueryParams),
  },
};

function resolveHandle({ handle }: ComAtprotoIdentityResolveHandle.QueryParams) {
  if (!isDemo(handle)) {
    throw new Refusal(400, 'Unable to resolve handle');
  }
  return { did: blueskyAccount.did };
}
