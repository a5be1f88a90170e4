import { sql } from 'kysely';
import type { LedgerEntry } from '../../db/ledger/entries.ts';
import { addEntries, asReady, SupersededError } from '../../db/ledger/intents.ts';
import { query } from '../../db/query.ts';
import { uploadsPurpose } from '../../db/sealing-purposes.ts';
import type { Json } from '../../domain/json-schema.ts';
import type { Connection } from '../../networks/network.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishJob } from './job.ts';

/** State of unfinished uploads, so that the next attempt resumes them. */
export type KeptUploads = Pick<Connection, 'uploadsOf' | 'saveUploads'> & {
  /** Sets the parts that are not sent yet. Call before the files of the next part are uploaded. */
  readonly begin: (remaining: readonly LedgerEntry[]) => void;
  /** Returns the current state of an entry: saving an upload also inserts new entries into the ledger. */
  readonly current: (entry: LedgerEntry) => LedgerEntry;
};

/**
 * Stores upload state in the ledger. Sealed, because an upload's URL is enough to write into it.
 *
 * The first intent to send inserts a thread's entries, but it comes after the uploads. So the first saved state inserts
 * them.
 */
export function keepUploads(deps: ActivityDeps, job: PublishJob): KeptUploads {
  const fresh = new Map<string, { readonly uploads: Json; readonly sealed: string }>();
  let remaining: readonly LedgerEntry[] = [];
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
      const sealed = 'sealedUploads' in part ? (part as LedgerEntry).sealedUploads : null;
      return known !== undefined || sealed === null
        ? (known ?? null)
        : (JSON.parse(deps.sealer.open(sealed, uploadsPurpose(part.key))) as Json);
    },
    saveUploads: async ({ key }, uploads) => {
      const em = deps.orm.em.fork();
      if (!isWritten && remaining.some(({ state }) => state === 'new')) {
        if (!(await addEntries(em, job, remaining, deps.now()))) {
          throw new SupersededError('Another attempt is uploading the files of this channel.');
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
        throw new SupersededError('Another attempt is sending to this channel.');
      }

      fresh.set(key, { uploads, sealed });
    },
  };
}
