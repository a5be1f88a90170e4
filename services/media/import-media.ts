import type { MediaFile } from '../../db/entities/media.ts';
import type { QuotaOwner } from '../context.ts';
import type { ServiceDeps } from '../deps.ts';
import { createOnce, type RequestKey } from '../idempotency.ts';
import { downloadMedia } from './download-media.ts';
import { assertFileTexts, fileName } from './file-texts.ts';
import { insertMedia } from './store-files.ts';

type ImportRequest<T> = {
  readonly url: string;
  /** Replaces the name in the URL. */
  readonly name: string | undefined;
  readonly altText: string | null;
  /** Returns JSON, which a repeated request gets again. */
  readonly present: (file: MediaFile) => T;
  readonly clientSignal: AbortSignal;
  readonly key: RequestKey | undefined;
};

/** Downloads one file into the media library. A repeated request downloads nothing. */
export async function importMedia<T extends object>(
  deps: Pick<ServiceDeps, 'orm' | 'now' | 'log' | 'media' | 'sealer'>,
  owner: QuotaOwner,
  { url, name, altText, present, clientSignal, key }: ImportRequest<T>,
): Promise<T & { readonly replayed: boolean }> {
  assertFileTexts(altText, name);
  return createOnce<T>(deps, owner.workspaceId, key, async (transact) => {
    const stored = await downloadMedia(deps, owner, [{ url, path: '/url' }], clientSignal);
    try {
      return await transact(async (em) => {
        const files = stored.files.map((one) => ({ ...one, altText })); // The alt text counts in the quota.
        const [file] = await insertMedia(em, owner, { files }, deps.now());
        if (!file) {
          throw new Error('insertMedia returned no row for the file.');
        }

        file.altText = altText;
        file.name = name ? fileName(name, file.type) : file.name;
        return present(file);
      });
    } finally {
      await stored.removeUnclaimed();
    }
  });
}
