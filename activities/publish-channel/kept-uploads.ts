import { sql } from 'kysely';
import type { Entry } from '../../db/ledger/entries.ts';
import { addEntries, asReady, SupersededError } from '../../db/ledger/intents.ts';
import { query } from '../../db/query.ts';
import { uploadsPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Connection } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';

/** What a try keeps of files that are on their way, so that the next one goes on where it stopped. */
export type KeptUploads = Pick<Connection, 'uploadsOf' | 'saveUploads'> & {
  /** Names the parts that have not gone out, before the files of the next are uploaded. */
  readonly begin: (remaining: readonly Entry[]) => void;
  /** An entry as it is now: keeping something writes those that were new into the ledger. */
  readonly current: (entry: Entry) => Entry;
};

/**
 * Sealed in the ledger: the address of an upload is all that one needs to write into it.
 *
 * A thread's entries are written with its first intent to send, which comes after the uploads. So the first thing that
 * is kept writes them.
 */
export function keepUploads(deps: ActivityDeps, job: PublishJob): KeptUploads {
  const fresh = new Map<string, { readonly uploads: Json; readonly sealed: string }>();
  let remaining: readonly Entry[] = [];
  let isWritten = false;
  const seal = (uploads: Json, key: string): string =>
    deps.sealer.seal(JSON.stringify(uploads), uploadsPurpose(key));
  return {
    begin: (entries) => {
      remaining = entries;
    },
    current: (entry) => {
      const sealedUploads = fresh.get(entry.key)?.sealed ?? entry.sealedUploads;
      return { ...(isWritten ? asReady(entry) : entry), sealedUploads };
    },
    uploadsOf: (part) => {
      const known = fresh.get(part.key)?.uploads;
      const sealed = 'sealedUploads' in part ? (part as Entry).sealedUploads : null;
      return known !== undefined || sealed === null
        ? (known ?? null)
        : (JSON.parse(deps.sealer.open(sealed, uploadsPurpose(part.key))) as Json);
    },
    saveUploads: async ({ key }, uploads) => {
      const em = deps.orm.em.fork();
      if (!isWritten && remaining.some(({ state }) => state === 'new')) {
        if (!(await addEntries(em, job, remaining, deps.now()))) {
          throw new SupersededError('Another try of this channel uploads its files.');
        }

        isWritten = true;
      }

      const sealed = seal(uploads, key);
      const kept = await query(
        em,
        sql`update post_parts set sealed_uploads = ${sealed}, updated_at = ${deps.now()}
          where post_channel_id = ${job.postChannelId} and workspace_id = ${job.workspaceId} and key = ${key}
            and state in ('ready', 'refused', 'doubted')
          returning id`,
      );
      if (kept.length !== 1) {
        throw new SupersededError('Another try of this channel is sending.');
      }

      fresh.set(key, { uploads, sealed });
    },
  };
}
