import type { Em } from '../../db/orm.ts';
import { dueTime } from '../../domain/due-time.ts';
import type { ServiceDeps } from '../deps.ts';
import { assertOptionsOf, filesInDefaults } from './channel-options.ts';
import { assertChosen, chooseChannels } from './choose-channels.ts';
import { assertNotEmpty, assertTexts, postContentOf } from './content.ts';
import type { PostInput } from './post-request.ts';
import { beforeDownload, givenUrls, placeFiles } from './read-files.ts';

/** Checks whatever of a new post does not depend on the files of URLs, so that a refused request downloads none. */
export async function checkRequest(
  { rules, now }: Pick<ServiceDeps, 'rules' | 'now'>,
  em: Em,
  workspaceId: string,
  input: PostInput,
) {
  assertTexts(input);
  const channelIds = input.channel_ids ?? [];
  const urls = givenUrls(input);
  const downloads = beforeDownload(urls);
  const content = postContentOf(input, downloads);
  const parts = new Set(placeFiles(input, downloads).map(({ part }) => part));
  assertNotEmpty(content, parts, channelIds, input);
  const dueAt = dueTime(input, now());
  const channels = await chooseChannels(em, workspaceId, channelIds);
  assertChosen(
    channels.map(({ id }) => id),
    input,
  );
  const optionFiles = [
    ...assertOptionsOf(rules, channels, input.channel_options),
    ...filesInDefaults(rules, channels, content.options),
  ];
  return { urls, dueAt, channels, optionFiles };
}
