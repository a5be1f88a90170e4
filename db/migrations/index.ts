import {
  Migration0024EngagementOrder,
  Migration0025StorageMark,
  Migration0026Beats,
  Migration0028MediaDetails,
  Migration0029FairShares,
  Migration0033DisplayNames,
  Migration0034SweepPositions,
  Migration0035LabelsAndSearch,
} from './from-0024.ts';
import {
  Migration0036DeletedPosts,
  Migration0037Unpublish,
  Migration0038KeyRights,
  Migration0039Audit,
  Migration0040Operators,
  Migration0041EventSequence,
  Migration0043PostTimezone,
  Migration0044ChannelMedia,
  Migration0045SameTexts,
  Migration0046DroppedReferences,
} from './from-0036.ts';
import {
  Migration0047OperatorKeyExpiry,
  Migration0048SearchWords,
  Migration0051Brands,
  Migration0053Warnings,
  Migration0054CallsInMemory,
  Migration0055Attempts,
  Migration0056ServersInMemory,
  Migration0057LimitsInMemory,
} from './from-0047.ts';

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
  { name: 'migration-0047-operator-key-expiry', class: Migration0047OperatorKeyExpiry },
  { name: 'migration-0048-search-words', class: Migration0048SearchWords },
  { name: 'migration-0051-brands', class: Migration0051Brands },
  { name: 'migration-0053-warnings', class: Migration0053Warnings },
  { name: 'migration-0054-calls-in-memory', class: Migration0054CallsInMemory },
  { name: 'migration-0055-attempts', class: Migration0055Attempts },
  { name: 'migration-0056-servers-in-memory', class: Migration0056ServersInMemory },
  { name: 'migration-0057-limits-in-memory', class: Migration0057LimitsInMemory },
];

/** Part of the first migration now; databases of earlier versions list them. */
export const isReplaced = (name: string): boolean => name < baseline;
