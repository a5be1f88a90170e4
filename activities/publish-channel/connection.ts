import { sql } from 'kysely';
import { currentGrantOr } from '../../accounts/current-grant.ts';
import { credentialsOf, openGrant, type Current } from '../../accounts/grants.ts';
import { query } from '../../db/query.ts';
import { credentialsPurpose, sessionPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Connection } from '../../networks/network.ts';
import type { Grant } from '../../networks/oauth.ts';
import type { ActivityDeps } from '../deps.ts';
import { grantedChannel, type PublishJob } from './job.ts';
import type { KeptUploads } from './kept-uploads.ts';

/** In milliseconds, over all requests of one try. Below the activity's startToCloseTimeout. */
const tryTimeoutMs = 4 * 60_000;

/**
 * What the network handed out for the channel, with an access token that lasts for the try; null where the account is opened
 * by credentials of its own.
 *
 * @throws NetworkError when there is no such token, and none could be bought.
 */
export async function openedGrant(deps: ActivityDeps, job: PublishJob): Promise<Current | null> {
  const { account, channelId } = job;
  if (account.grant === null) {
    return null;
  }

  const { sealed, refreshedAt } = account.grant;
  const grant = openGrant(deps.sealer, channelId, sealed);
  return currentGrantOr(deps, grantedChannel(job), { grant, refreshedAt });
}

type Means = {
  readonly intent: Intent;
  readonly uploads: KeptUploads;
  readonly grant: Grant | null;
};

/** @throws Error when the channel's secrets were sealed under another key: an operator's matter. */
export function openConnection(
  deps: ActivityDeps,
  job: PublishJob,
  { intent, uploads, grant }: Means,
): Connection {
  const { workspaceId, channelId, baseUrl, account } = job;
  const open = (sealed: string, purpose: string): Json =>
    JSON.parse(deps.sealer.open(sealed, purpose));
  let session =
    account.sealedSession === null ? null : open(account.sealedSession, sessionPurpose(channelId));
  return {
    baseUrl,
    remoteId: account.remoteId,
    handle: account.handle,
    settings: account.settings,
    credentials: grant
      ? credentialsOf(grant)
      : open(account.sealedCredentials, credentialsPurpose(channelId)),
    get session() {
      return session;
    },
    saveSession: async (fresh) => {
      session = fresh;
      const sealed = deps.sealer.seal(JSON.stringify(fresh), sessionPurpose(channelId));
      await query(
        deps.orm.em.fork(),
        // Unless the account was connected again meanwhile: that access has a session of its own.
        sql`update channels set sealed_session = ${sealed}
          where id = ${channelId} and workspace_id = ${workspaceId}
            and sealed_credentials = ${account.sealedCredentials}`,
      );
    },
    uploadsOf: uploads.uploadsOf,
    saveUploads: uploads.saveUploads,
    http: deps.egress,
    downloads: deps.downloads,
    signal: AbortSignal.timeout(tryTimeoutMs),
    mayCreate: intent.isYoung,
  };
}

/**
 * A request that creates something is written this soon after its intent or not at all, in milliseconds. With the time
 * that it may then take (30 s) it is over well before `appearsWithinMs` is, when another try may send again.
 */
export const writtenWithinMs = 10_000;

/** How old the intent to send is, for a try that may be stopped at any point, and go on long after others took over. */
export type Intent = {
  /** Before the statement that commits it. */
  readonly begin: () => void;
  readonly isYoung: () => boolean;
};

/**
 * By two clocks: the one stands still while a machine is suspended, the other can be set. What either of them says has
 * passed, has passed.
 */
export function createIntent(
  { now }: Pick<ActivityDeps, 'now'>,
  monotonicNowMs: () => number = () => performance.now(),
): Intent {
  const read = () => [monotonicNowMs(), now().getTime()] as const;
  let begun: ReturnType<typeof read> | null = null;
  return {
    begin: () => {
      begun = read();
    },
    isYoung: () => {
      const [monotonicMs, wallMs] = read();
      return (
        begun !== null && Math.max(monotonicMs - begun[0], wallMs - begun[1]) <= writtenWithinMs
      );
    },
  };
}
