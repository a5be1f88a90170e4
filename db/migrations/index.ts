import { Migration0001Initial } from './migration-0001-initial.ts';
import { Migration0002WholeApi } from './migration-0002-whole-api.ts';
import { Migration0003LifeOfAPost } from './migration-0003-life-of-a-post.ts';
import { Migration0004Webhooks } from './migration-0004-webhooks.ts';
import { Migration0007OpenSends } from './migration-0007-open-sends.ts';
import { Migration0008Servers } from './migration-0008-servers.ts';
import { Migration0009DeliveryAttempts } from './migration-0009-delivery-attempts.ts';
import { Migration0010MediaAndAnalytics } from './migration-0010-media-and-analytics.ts';
import { Migration0011AtScale } from './migration-0011-at-scale.ts';
import { Migration0012KeyLastUse } from './migration-0012-key-last-use.ts';
import { Migration0013Installation } from './migration-0013-installation.ts';
import { Migration0014Quotas } from './migration-0014-quotas.ts';
import { Migration0015SealedBy } from './migration-0015-sealed-by.ts';
import { Migration0016SettledChannels } from './migration-0016-settled-channels.ts';
import { Migration0017PostParts } from './migration-0017-post-parts.ts';
import { Migration0018FiveNetworks } from './migration-0018-five-networks.ts';
import { Migration0019DisconnectedChannels } from './migration-0019-disconnected-channels.ts';
import { Migration0020Grants } from './migration-0020-grants.ts';
import { Migration0021KeptDefaults } from './migration-0021-kept-defaults.ts';
import { Migration0022OwnersOfTurns } from './migration-0022-owners-of-turns.ts';
import { Migration0023Metrics } from './migration-0023-metrics.ts';
import { Migration0024EngagementOrder } from './migration-0024-engagement-order.ts';

/** In order; a landed migration is never edited. Its name is what the `migrations` table remembers. */
export const migrations = [
  { name: 'migration-0001-initial', class: Migration0001Initial },
  { name: 'migration-0002-whole-api', class: Migration0002WholeApi },
  { name: 'migration-0003-life-of-a-post', class: Migration0003LifeOfAPost },
  { name: 'migration-0004-webhooks', class: Migration0004Webhooks },
  { name: 'migration-0007-open-sends', class: Migration0007OpenSends },
  { name: 'migration-0008-servers', class: Migration0008Servers },
  { name: 'migration-0009-delivery-attempts', class: Migration0009DeliveryAttempts },
  { name: 'migration-0010-media-and-analytics', class: Migration0010MediaAndAnalytics },
  { name: 'migration-0011-at-scale', class: Migration0011AtScale },
  { name: 'migration-0012-key-last-use', class: Migration0012KeyLastUse },
  { name: 'migration-0013-installation', class: Migration0013Installation },
  { name: 'migration-0014-quotas', class: Migration0014Quotas },
  { name: 'migration-0015-sealed-by', class: Migration0015SealedBy },
  { name: 'migration-0016-settled-channels', class: Migration0016SettledChannels },
  { name: 'migration-0017-post-parts', class: Migration0017PostParts },
  { name: 'migration-0018-five-networks', class: Migration0018FiveNetworks },
  { name: 'migration-0019-disconnected-channels', class: Migration0019DisconnectedChannels },
  { name: 'migration-0020-grants', class: Migration0020Grants },
  { name: 'migration-0021-kept-defaults', class: Migration0021KeptDefaults },
  { name: 'migration-0022-owners-of-turns', class: Migration0022OwnersOfTurns },
  { name: 'migration-0023-metrics', class: Migration0023Metrics },
  { name: 'migration-0024-engagement-order', class: Migration0024EngagementOrder },
];
