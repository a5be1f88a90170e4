import { isDeepStrictEqual } from 'node:util';
import type { ListedFile } from '../networks/read-accounts.ts';
import { altTextOf } from '../parts/upload-files.ts';
import { factsOf, type Platform } from '../plan/platforms.ts';
import type { PlannedFile } from '../plan/post-plan.ts';
import { eachSent, nameOf, type Evidence, type Sent, type Violation } from './evidence.ts';

/** Each part on a network has all of its own files, once and in order. */
export const checkFiles = (evidence: Evidence): Violation[] =>
  eachSent(evidence).flatMap((sent) => checkSent(evidence, sent));

function checkSent(evidence: Evidence, sent: Sent): Violation[] {
  const { channel, history, found } = sent;
  const platform = evidence.channels[channel]?.platform;
  return found.flatMap(({ part, files, url }): Violation[] => {
    const wanted = platform ? wantedOn(platform, part, history.plan.files) : [];
    return isDeepStrictEqual(files, wanted)
      ? []
      : [
          {
            invariant: 'files missing, or too many',
            marker: history.plan.marker,
            what: `${nameOf(evidence, sent)}: part ${part} at ${url} has ${listOf(files)}, but should have ${listOf(wanted)}`,
          },
        ];
  });
}

function wantedOn(platform: Platform, part: number, planned: readonly PlannedFile[]): ListedFile[] {
  const { joinsThreads, showsVideoAltTexts } = factsOf(platform);
  const own = joinsThreads
    ? planned.filter(() => part === 1).toSorted((a, b) => a.part - b.part)
    : planned.filter((file) => file.part === part);
  return own.map(({ name }) => {
    const kind = name === 'video' ? 'video' : 'picture';
    return { kind, altText: kind === 'picture' || showsVideoAltTexts ? altTextOf(name) : '' };
  });
}

const listOf = (files: readonly ListedFile[]): string =>
  files.length === 0
    ? 'no files'
    : files.map(({ kind, altText }) => `a ${kind} (${altText || 'no alt text'})`).join(', ');
