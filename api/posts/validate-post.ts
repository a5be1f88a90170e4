import type { ValidationResult } from '../../networks/content-rules.ts';
import { dueTime } from '../../domain/due-time.ts';
import type { ApiDeps } from '../deps.ts';
import { downloadMedia } from '../media/download-media.ts';
import { assertMediaQuota } from '../quotas/media-quota.ts';
import type { QuotaOwner } from '../quotas/post-quota.ts';
import { chooseMedia } from './attach-media.ts';
import { checkTexts, mustSaySomething } from './check-texts.ts';
import { chooseChannels, mustBeChosen } from './choose-channels.ts';
import { judgePost, type Judgement } from './judge-post.ts';
import { contentOf } from './post-content.ts';
import type { Validated, ValidatedChannel, ValidatePostBody } from './schemas.ts';

/**
 * Judges a post as its creation would, by the same rules, and stores nothing. Files named by URL are downloaded and
 * looked at, since nothing else tells what they are, and thrown away.
 *
 * @param signal Aborts when nobody waits for the answer any more: downloads end then.
 * @throws AppError as the creation would, for what no channel's rule is about.
 */
export async function validatePost(
  deps: ApiDeps,
  owner: QuotaOwner,
  request: ValidatePostBody,
  signal?: AbortSignal,
): Promise<Validated> {
  const { workspaceId } = owner;
  const { media_ids: mediaIds = [], media_urls: mediaUrls = [] } = request;
  checkTexts(request);
  const content = contentOf(request);
  mustSaySomething(content, mediaIds.length + mediaUrls.length);
  dueTime(request, deps.now());
  const em = deps.orm.em.fork();
  const channels = await chooseChannels(em, workspaceId, request.channel_ids ?? []);
  mustBeChosen(
    channels.map(({ id }) => id),
    content.overrides,
  );
  const chosen = await chooseMedia(em, workspaceId, mediaIds);
  const downloaded = await downloadMedia(deps, owner, mediaUrls, signal);
  await downloaded.removeUnclaimed();
  await assertMediaQuota(em, owner, downloaded.files);
  const media = [...chosen, ...downloaded.files];
  const judged = judgePost(deps.rules, channels, content, media).map(present);
  return { valid: judged.every(({ errors }) => errors.length === 0), channels: judged };
}

const present = ({ channel, errors, warnings, texts }: Judgement): ValidatedChannel => ({
  channel_id: channel.id,
  platform: channel.platform,
  handle: channel.handle,
  errors,
  warnings:
    channel.state === 'needs_reconnect'
      ? [...warnings, 'The channel needs reconnecting.']
      : warnings,
  ...nearestLimit(texts),
  texts,
});

function nearestLimit(
  texts: ValidationResult['texts'],
): Pick<ValidatedChannel, 'length' | 'limit' | 'unit'> {
  const [nearest] = texts.toSorted((a, b) => b.length / b.limit - a.length / a.limit);
  return nearest ?? { length: null, limit: null, unit: null };
}
