import type { AttachmentFacts, ValidationResult } from '../../networks/content-rules.ts';
import { dueTime, timeWarning } from '../../domain/due-time.ts';
import type { ApiDeps } from '../deps.ts';
import { downloadMedia } from '../media/download-media.ts';
import { assertMediaQuota } from '../quotas/media-quota.ts';
import type { QuotaOwner } from '../quotas/post-quota.ts';
import { assertForChosen, filesInDefaults } from './channel-options.ts';
import { chooseChannels } from './choose-channels.ts';
import { countNamed, givenFiles } from './given-files.ts';
import { assertNotEmpty, assertTexts, postContentOf } from './post-content.ts';
import { chooseMedia, factsOf, idsOfParts, optionFiles, placeFiles } from './post-media.ts';
import type { ContentFault, Validated, ValidatedChannel, ValidatePostBody } from './schemas.ts';
import { validateContent, type ChannelValidation } from './validate-content.ts';

/**
 * Validates a post as its creation would, and stores nothing. Files from URLs are downloaded, inspected and discarded,
 * because their type is read from their bytes.
 *
 * @param signal Aborts downloads when the client hangs up.
 * @throws AppError as the creation does, for faults that no network rule covers.
 */
export async function validatePost(
  deps: ApiDeps,
  owner: QuotaOwner,
  request: ValidatePostBody,
  signal?: AbortSignal,
): Promise<Validated> {
  const { workspaceId } = owner;
  const { media_urls: mediaUrls = [] } = request;
  assertTexts(request);
  const content = postContentOf(request);
  const given = givenFiles(request);
  assertNotEmpty(content, countNamed(given) + mediaUrls.length);
  dueTime(request, deps.now());
  const em = deps.orm.em.fork();
  const channels = await chooseChannels(em, workspaceId, request.channel_ids ?? []);
  const inOptions = [
    ...(await assertForChosen(deps.rules, channels, request)),
    ...filesInDefaults(deps.rules, channels, content.options),
  ];
  const named = [...idsOfParts(given), ...inOptions];
  const found = new Map<string, AttachmentFacts>(await chooseMedia(em, workspaceId, named));
  const downloaded = await downloadMedia(deps, owner, mediaUrls, signal);
  await downloaded.removeUnclaimed();
  await assertMediaQuota(em, owner, downloaded.files);
  for (const file of downloaded.files) {
    found.set(file.id, file);
  }

  const placed = [...placeFiles(given, downloaded.files), ...optionFiles(inOptions)];
  const files = factsOf(placed, found);
  const validated = validateContent(deps.rules, channels, content, files).map(present);
  return {
    valid: validated.every(({ errors }) => errors.length === 0),
    warning: timeWarning(request),
    channels: validated,
  };
}

const present = ({
  channel,
  errors,
  warnings,
  texts,
  priceUsd = 0,
  describe,
}: ChannelValidation): ValidatedChannel => ({
  channel_id: channel.id,
  platform: channel.platform,
  handle: channel.handle,
  errors: describe(errors),
  warnings: [
    ...describe(warnings),
    ...(channel.state === 'needs_reconnect' ? [needsReconnect] : []),
  ],
  price_usd: errors.length > 0 ? null : priceUsd,
  ...nearestLimit(texts),
  texts,
});

const needsReconnect: ContentFault = {
  message: 'The channel needs reconnecting.',
  path: '/channel_ids',
  rule: 'channel_access',
  limit: null,
  actual: null,
};

function nearestLimit(
  texts: ValidationResult['texts'],
): Pick<ValidatedChannel, 'length' | 'limit' | 'unit'> {
  const [nearest] = texts.toSorted((a, b) => b.length / b.limit - a.length / a.limit);
  return nearest ?? { length: null, limit: null, unit: null };
}
