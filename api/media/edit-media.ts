import { sql } from 'kysely';
import type { MediaFile } from '../../db/entities/media-file.ts';
import type { Em } from '../../db/orm.ts';
import { query } from '../../db/query.ts';
import { lockLibrary } from '../../db/quota-use.ts';
import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import type { ApiDeps } from '../deps.ts';
import { reserveAltText } from '../quotas/media-quota.ts';
import type { QuotaOwner } from '../quotas/post-quota.ts';
import { altTextFault } from './alt-text.ts';
import { fileName } from './file-name.ts';
import { loadMedia } from './library.ts';
import type { EditMediaBody } from './schemas.ts';
import { assertFitsWaitingPosts } from './waiting-posts.ts';

/**
 * Changes the name or the alt text of a file.
 *
 * @throws AppError `not_found`, `invalid_request`, `invalid_content`, `quota_exceeded`
 */
export async function editMedia(
  { orm, rules }: Pick<ApiDeps, 'orm' | 'rules'>,
  owner: QuotaOwner,
  id: string,
  { alt_text: altText, name }: EditMediaBody,
): Promise<MediaFile> {
  refuse('alt_text', altText === '' ? 'must not be blank' : altTextFault(altText ?? ''));
  refuse('name', name === undefined || isText(name) ? null : 'must be text');
  return orm.em.fork().transactional(async (em) => {
    // Posts use the same lock order: the file, then the library.
    await lockFile(em, owner.workspaceId, id);
    await lockLibrary(em, owner.workspaceId);
    const file = await loadMedia(em, owner.workspaceId, id);
    if (altText !== undefined) {
      await assertFitsWaitingPosts(em, rules, file, altText);
      await reserveAltText(em, owner, file.altText, altText);
      file.altText = altText;
    }

    if (name !== undefined) {
      file.name = fileName(name, file.type);
    }

    return file;
  });
}

/** A post that is being scheduled with the file commits before this, or sees the new alt text. */
const lockFile = (em: Em, workspaceId: string, id: string): Promise<unknown> =>
  query(
    em,
    sql`select from media_files where id = ${id} and workspace_id = ${workspaceId} for no key update`,
  );

/** @throws AppError `invalid_request` */
function refuse(field: string, fault: string | null): void {
  if (fault !== null) {
    throw new AppError('invalid_request', `${field} ${fault}.`, {
      details: [{ path: `/${field}`, message: fault }],
    });
  }
}
