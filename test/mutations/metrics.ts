import { mutationsOf, type Mutation } from './mutation.ts';

const refreshes = ['test/activities/*metrics*.test.ts', 'test/workflows/refresh-metrics'];
const readers = ['test/networks/*/*{metrics,figures}*.test.ts'];
// Not the oracle, which takes minutes to make the smallest case of what it found.
const analytics = [
  'test/api/analytics/{csv,history-and-times,refresh,sums-and-order,which-posts}*.test.ts',
  'test/activities/*metrics*.test.ts',
];

/** When figures are read, what is written down of them, and what is told. */
export const metricsMutations: readonly Mutation[] = [
  ...mutationsOf('domain/metrics-schedule.ts', refreshes, [
    [
      'a post is read every quarter of an hour for a week',
      '7 * dayMs, everyMs',
      '70 * dayMs, everyMs',
    ],
    [
      'a network is read as often as posts are young',
      'Math.max(step.everyMs, leastMs)',
      'step.everyMs',
    ],
    ['a post is never too old to be read', 'untilMs: 365 * dayMs', 'untilMs: 3650 * dayMs'],
  ]),
  ...mutationsOf('activities/refresh-metrics/claim-due.ts', refreshes, [
    [
      'a claimed post can be claimed again at once',
      "when 'read' then ${lease}",
      "when 'read' then ${at(0)}",
    ],
    [
      'a rate limit of posting does not hold for reading',
      'when due.limited_until > ${at(0)}',
      'when false',
    ],
    [
      'a network that is asked rarely is asked as often as somebody likes',
      'when due.early_until > ${at(0)}',
      'when false',
    ],
    [
      'a large channel is asked for many batches at once',
      'and pc.channel_id <> all(${busyChannels}::uuid[])',
      'and (true or pc.channel_id <> all(${busyChannels}::uuid[]))',
    ],
    [
      'a refresh of one post reads all',
      'and pc.post_id = ${post.postId}',
      'and (true or pc.post_id = ${post.postId})',
    ],
  ]),
  ...mutationsOf('activities/refresh-metrics/record-readings.ts', refreshes, [
    [
      'a worker that stood still overwrites what is newer',
      'pc.metrics_updated_at < ${readAt}',
      'true',
    ],
    [
      'a post that is gone is read for ever',
      'set gone_at = ${batch.readAt}, next_metrics_at = null',
      'set gone_at = ${batch.readAt}, next_metrics_at = ${batch.readAt}',
    ],
    ['a day keeps its first figures', 'do update set metrics = excluded.metrics', 'do nothing'],
    [
      'a day is the one of the database’s time zone',
      "at time zone 'UTC'",
      "at time zone 'Pacific/Kiritimati'",
    ],
    [
      'a post that the network is silent about is asked for each quarter of an hour for ever',
      'await moveRows(em, [...untold, ...unasked], lease);',
      'await moveRows(em, unasked, lease);',
    ],
    [
      'a post that there was no time for waits for its next usual time',
      'unasked.push({ ...row, nextAt: new Date(readAt.getTime() + soonMs) });',
      'untold.push(moved);',
    ],
  ]),
  ...mutationsOf('activities/refresh-metrics/meet-failure.ts', refreshes, [
    [
      'one odd post keeps its channel from being read',
      'failed: batch.length }, goesOn: true',
      'failed: batch.length }, goesOn: false',
    ],
    [
      'what a network says of its limit is not heard',
      'retryAtMs ?? nowMs + failedMs',
      'nowMs + failedMs',
    ],
    [
      'an account that lost access is not told so',
      'await loseAccess(em, deps',
      'void loseAccess; void (em, deps',
    ],
    [
      'an account that was connected anew loses its access',
      'if (await isReconnected(em, account))',
      'if (false as boolean)',
    ],
  ]),
  ...mutationsOf('activities/refresh-metrics/read-channel.ts', refreshes, [
    ['what the budget does not hold is asked for', 'batch: batch.slice(0, granted),', 'batch,'],
    ['an account without access uses up the budget', 'isMade = !isRefusal(error);', ''],
    ['reads are not taken from the budget', 'readsPerMonth === null ? wanted', 'true ? wanted'],
  ]),
  ...mutationsOf('activities/refresh-metrics/record-patiently.ts', refreshes, [
    [
      'what was read is lost with the connection',
      '!(isDatabaseAway(error) || isConflict(error))',
      '(true as boolean)',
    ],
  ]),
  ...mutationsOf('activities/refresh-metrics/reserve-reads.ts', refreshes, [
    ['two workers get the same reads', 'month}::date for update`', 'month}::date`'],
    ['a month is the year', 'toISOString().slice(0, 8) + ', "toISOString().slice(0, 5) + '01-' + "],
  ]),
  ...mutationsOf('networks/metrics.ts', readers, [
    ['a figure below nothing is taken', 'told >= 0 && ', ''],
  ]),
  ...mutationsOf('networks/x/metrics.ts', readers, [
    ['a post that an account may not see is gone', "type.endsWith('/resource-not-found') && ", ''],
  ]),
  ...mutationsOf('networks/mastodon/metrics.ts', readers, [
    [
      'the 404 of a proxy says that a post is gone',
      '&& readRefusal(jsonOf(response)) !== null',
      '',
    ],
    [
      'figures use up what a server takes of posts',
      'if (untilMs > Date.now())',
      'if (untilMs < 0)',
    ],
  ]),
  ...mutationsOf('networks/bluesky/metrics.ts', readers, [
    [
      'a post that the AppView hides is gone',
      "return isGone ? { kind: 'gone' } : null",
      "return isGone || response !== null ? { kind: 'gone' } : null",
    ],
  ]),
  ...mutationsOf('networks/youtube/metrics.ts', readers, [
    [
      'a video that another account does not see is gone',
      "if (!(await ownChannel(access, channelId, 'id')))",
      "if (await ownChannel(access, channelId, 'none'))",
    ],
  ]),
  ...mutationsOf('api/analytics/days.ts', analytics, [
    ['the last day does not belong to the range', 'beginOf(day) + dayMs', 'beginOf(day)'],
  ]),
  ...mutationsOf('api/analytics/selection.ts', analytics, [
    ['analytics are of all workspaces', 'sql`pm.workspace_id = ${workspaceId} and pm', 'sql`pm'],
    ['channels on which a post failed are listed', " and pc.status = 'published'", ''],
    [
      'a post counts on each channel when the first of all channels published it',
      "const scope = channelId ?? platform ?? 'all';",
      "const scope = 'all';",
    ],
    [
      'the end of a range belongs to it',
      'pm.published_at < ${moment(end)}',
      'pm.published_at <= ${moment(end)}',
    ],
    [
      'what nobody measured is nought',
      'case when sum(pm.with_impressions) > 0 then sum(pm.impressions)::float8 end as impressions',
      'sum(pm.impressions)::float8 as impressions',
    ],
  ]),
  ...mutationsOf('api/analytics/load-analytics.ts', analytics, [
    ['a page of posts without a figure comes first', 'nulls last', 'nulls first'],
    ['posts with the same figure change places', '${by}, published_at desc, post_id desc', '${by}'],
  ]),
  ...mutationsOf('api/analytics/csv.ts', analytics, [
    ['a text begins a formula', ']*[=+', ']*[+'],
    ['a quote in a text ends its cell', "plain.replaceAll('\"', '\"\"')", 'plain'],
  ]),
  ...mutationsOf(
    'api/analytics/refresh.ts',
    ['test/api/isolation', ...analytics],
    [
      [
        'a post of another workspace is refreshed',
        'where id = ${postId} and workspace_id = ${workspaceId}',
        'where id = ${postId} and (true or workspace_id = ${workspaceId})',
      ],
      [
        'figures of a minute ago are read again',
        "when pc.metrics_updated_at > ${rested} then 'not_yet'",
        '',
      ],
      [
        'a network that is asked once a day is said to be asked now',
        "when early.until > ${askedAt} then 'rare'",
        '',
      ],
      ['a read that costs something is begun twice', 'early.until is not null and', 'false and'],
      ['the end of a limit is moved to now', 'pc.next_metrics_at <= ${limited}', 'false'],
      [
        'what a network is asked for later is read when it is due by itself, weeks later',
        'pc.next_metrics_at > asked.early_until',
        'false',
      ],
    ],
  ),
];
