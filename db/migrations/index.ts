import { Migration0024EngagementOrder } from './migration-0024-engagement-order.ts';
import { Migration0025StorageMark } from './migration-0025-storage-mark.ts';
import { Migration0026Beats } from './migration-0026-beats.ts';
import { Migration0028MediaDetails } from './migration-0028-media-details.ts';
import { Migration0029FairShares } from './migration-0029-fair-shares.ts';
import { Migration0033DisplayNames } from './migration-0033-display-names.ts';
import { Migration0034SweepPositions } from './migration-0034-sweep-positions.ts';
import { Migration0035LabelsAndSearch } from './migration-0035-labels-and-search.ts';
import { Migration0036DeletedPosts } from './migration-0036-deleted-posts.ts';
import { Migration0037Unpublish } from './migration-0037-unpublish.ts';
import { Migration0038KeyRights } from './migration-0038-key-rights.ts';
import { Migration0039Audit } from './migration-0039-audit.ts';
import { Migration0040Operators } from './migration-0040-operators.ts';
import { Migration0041EventSequence } from './migration-0041-event-sequence.ts';
import { Migration0043PostTimezone } from './migration-0043-post-timezone.ts';
import { Migration0044ChannelMedia } from './migration-0044-channel-media.ts';
import { Migration0045SameTexts } from './migration-0045-same-texts.ts';
import { Migration0046DroppedReferences } from './migration-0046-dropped-references.ts';

const baseline = 'migration-0024-engagement-order';

/** In order. A released migration is never edited; the `migrations` table stores its name. */
export const migrations = [
  { name: baseline, class: Migration0024EngagementOrder },
  { name: 'migration-0025-storage-mark', class: Migration0025StorageMark },
  { name: 'migration-0026-beats', class: Migration0026Beats },
  { name: 'migration-0028-media-details', class: Migration0028MediaDetails },
  { name: 'migration-0029-fair-shares', class: Migration0029FairShares },
  { name: 'migration-0033-display-names', class: Migration0033DisplayNames },
  { name: 'migration-0034-sweep-positions', class: Migration0034SweepPositions },
  { name: 'migration-0035-labels-and-search', class: Migration0035LabelsAndSearch },
  { name: 'migration-0036-deleted-posts', class: Migration0036DeletedPosts },
  { name: 'migration-0037-unpublish', class: Migration0037Unpublish },
  { name: 'migration-0038-key-rights', class: Migration0038KeyRights },
  { name: 'migration-0039-audit', class: Migration0039Audit },
  { name: 'migration-0040-operators', class: Migration0040Operators },
  { name: 'migration-0041-event-sequence', class: Migration0041EventSequence },
  { name: 'migration-0043-post-timezone', class: Migration0043PostTimezone },
  { name: 'migration-0044-channel-media', class: Migration0044ChannelMedia },
  { name: 'migration-0045-same-texts', class: Migration0045SameTexts },
  { name: 'migration-0046-dropped-references', class: Migration0046DroppedReferences },
];

/** Part of the first migration now; databases of earlier versions list them. */
export const isReplaced = (name: string): boolean => name < baseline;
