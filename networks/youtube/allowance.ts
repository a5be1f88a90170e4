import type { Allowance } from '../allowance.ts';
import { readPrepared } from './prepared.ts';

/**
 * In units of the project's 10,000 a day. An upload costs no units but one of 100 uploads a day, so it counts as a
 * hundredth of the units.
 *
 * Source: https://developers.google.com/youtube/v3/determine_quota_cost
 */
const units = { upload: 100, thumbnail: 50, comment: 51 } as const;

/** The units for sending a part. Reads of videos cost one unit each and are not counted. */
export const unitsOf: Allowance['cost'] = ({ data, options }, isUploading) => {
  if (readPrepared(data)?.kind === 'comment') {
    return units.comment;
  }

  const thumbnail = options['thumbnail'] === undefined ? 0 : units.thumbnail;
  return (isUploading ? 0 : units.upload) + thumbnail;
};
