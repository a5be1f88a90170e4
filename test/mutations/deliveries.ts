import { mutationsOf, type Mutation } from './mutation.ts';

const webhooks = ['test/webhooks'];
const temporal = ['test/temporal'];

/** How an event gets to an endpoint, and what the sync does. */
export const deliveryMutations: readonly Mutation[] = [
  ...mutationsOf(
    'activities/attempt-delivery/record-attempt.ts',
    [...webhooks, 'test/api/webhooks'],
    [
      [
        'a replay has the attempts that were left',
        'attempt.number - delivery.attemptsBefore',
        'attempt.number',
      ],
      [
        'a success does not begin the five days anew',
        'isTaken ? sql`null` : sql`${at}::timestamptz`',
        'isTaken ? sql`failing_since` : sql`${at}::timestamptz`',
      ],
      [
        'the failure of a try that was given up counts',
        "d.status = 'pending' and a.begun = ${begun} and not exists",
        "d.status = 'pending' and not exists",
      ],
      [
        'what cannot be written down at once is requested again',
        'return repeatUntil(untilMs, store)',
        'return store()',
      ],
    ],
  ),
  ...mutationsOf('activities/attempt-delivery/start-attempt.ts', webhooks, [
    [
      'a request without an end is begun again for ever',
      ' where under_way and begun >= ${sql.lit(mostInterrupted)}',
      ' where false',
    ],
    [
      'a wrong clock parks a delivery for a year',
      "d.next_attempt_at > clock_timestamp() + ${sql.lit(longestWaitMs)} * interval '1 millisecond'",
      'false',
    ],
  ]),
  ...mutationsOf('activities/attempt-delivery/slots.ts', webhooks, [
    [
      'an endpoint that answers again goes on resting',
      'and rests_until > clock_timestamp() for update skip locked',
      'and false for update skip locked',
    ],
    [
      'the slot of a request without an answer never rests',
      '(${hung}) * ${sql.lit(restPerHungMs)}',
      '0 * (${hung}) * ${sql.lit(restPerHungMs)}',
    ],
  ]),
  ...mutationsOf('activities/attempt-delivery/attempt-delivery.ts', webhooks, [
    [
      'an endpoint is disabled by one bad request after days of silence',
      "if (outcome.status === 'failed')",
      "if (outcome.status !== 'delivered')",
    ],
    [
      'a fault of ours keeps the slot of its attempt',
      '? query(deps.orm.em.fork(), releaseSlot(slotOf(delivery, attempt)))',
      '? Promise.resolve()',
    ],
  ]),
  ...mutationsOf('domain/webhook-deliveries.ts', webhooks, [
    ['an endpoint has five slots', 'slotsPerEndpoint = 4', 'slotsPerEndpoint = 5'],
  ]),
  ...mutationsOf('domain/webhook-deliveries.ts', webhooks, [
    [
      'a redirect is a delivery',
      'status >= 200 && status <= 299',
      'status >= 200 && status <= 399',
    ],
  ]),
  ...mutationsOf(
    'domain/signing-secrets.ts',
    ['test/api/webhooks'],
    [['a new secret never takes over', 'rotatesAt <= now', 'rotatesAt > now']],
  ),
  ...mutationsOf(
    'runtime/send-webhook.ts',
    ['test/runtime/*', 'test/signature-oracles'],
    [
      ['the signature is over the body alone', '`${timestamp}.${body}`', '`${body}`'],
      [
        'the key of Standard Webhooks is the secret as text',
        ", 'base64');\n  const digest",
        ", 'utf8');\n  const digest",
      ],
    ],
  ),
  ...mutationsOf('runtime/send-webhook.ts', webhooks, [
    ['the timestamp is in milliseconds', 'Math.floor(at.getTime() / 1000)', 'at.getTime()'],
  ]),
  ...mutationsOf(
    'db/record-event.ts',
    ['test/api/isolation', 'test/activities'],
    [
      [
        'an event goes to endpoints that did not subscribe to it',
        ' and events @> to_jsonb(${type}::text)',
        ' and ${type}::text is not null',
      ],
    ],
  ),
  ...mutationsOf(
    'db/record-event.ts',
    ['test/api/webhooks', 'test/db'],
    [
      [
        'an event of the moment in which its endpoint changes is lost',
        'order by id for share',
        'order by id',
      ],
      [
        'events of a post go backwards',
        '`greatest(clock_timestamp(), (',
        '`coalesce(clock_timestamp(), (',
      ],
    ],
  ),
  ...mutationsOf(
    'db/is-away.ts',
    ['test/db'],
    [
      [
        'what lies beneath an error is not looked at',
        'causesOf(error).some(saysAway)',
        'error instanceof Error && saysAway(error)',
      ],
    ],
  ),
  ...mutationsOf(
    'db/driver/limit-sessions.ts',
    ['test/temporal'],
    [
      [
        'a transaction of a machine that vanished is idle for ever',
        'idle_in_transaction_session_timeout: 3 * queryTimeoutMs',
        'idle_in_transaction_session_timeout: 0',
      ],
      [
        'a statement that its caller gave up is carried out later',
        'statement_timeout: Math.round(queryTimeoutMs * 0.95)',
        'statement_timeout: 0',
      ],
    ],
  ),
  ...mutationsOf('temporal/sync-delivery.ts', temporal, [
    [
      'a replay after one that a failover lost is never begun',
      'least(round, greatest(synced_round, ${round}::int))',
      'greatest(synced_round, ${round}::int)',
    ],
  ]),
  ...mutationsOf(
    'temporal/sync-post.ts',
    ['test/workflows'],
    [
      [
        'a post whose cancel a failover lost never goes out',
        'when ${revision}::int > revision then revision - 1',
        'when ${revision}::int > revision then ${revision}::int',
      ],
    ],
  ),
  ...mutationsOf('temporal/sync-post.ts', temporal, [
    [
      'the outbox keeps a post that was synced',
      'greatest(synced_revision, ${revision}::int)',
      'least(synced_revision, ${revision}::int)',
    ],
    [
      'a post without a workflow cannot become a draft',
      'if (!(error instanceof WorkflowNotFoundError))',
      'if (error instanceof WorkflowNotFoundError)',
    ],
  ]),
  ...mutationsOf('worker/outbox.ts', temporal, [
    [
      'after an outage the youngest posts are synced first',
      'const byIndex = sql`${dueAt()} nulls first`',
      'const byIndex = sql`${dueAt()} desc nulls first`',
    ],
    [
      'a post that is due waits behind all drafts of a disconnection',
      '${turn} * ${sql.lit(timedForEachDraft)}',
      '${turn} * 0',
    ],
    [
      'a cancel waits until no other post is to be synced',
      '${turn} * ${sql.lit(timedForEachDraft)}',
      '${turn} * 1000',
    ],
  ]),
  ...mutationsOf(
    'temporal/sync-post.ts',
    ['test/temporal', 'test/workflows'],
    [
      [
        'the mark of a cancel undoes that of the start that it overtook',
        "post.status === 'draft' ? await versionOf(em, post) : null",
        'null',
      ],
      [
        'the mark of a cancel that left a channel to be finished undoes that of the start that it overtook',
        "post.status === 'draft' ? await",
        "post.status === 'draft' && !post.isUnfinished ? await",
      ],
      [
        'a start that was overtaken by a cancel counts as synced',
        "and status = 'draft' then revision - 1",
        "and status = 'draft' then revision",
      ],
    ],
  ),
  ...mutationsOf('worker/relay.ts', temporal, [
    [
      'a row that finds no connection is said to be refused',
      'isTemporalAway(error) || isDatabaseAway(error);',
      'isTemporalAway(error);',
    ],
    [
      'a post that Temporal refuses is never left alone',
      "backoff.add(id, isAwayError(error) ? 'away' : 'refused');",
      '',
    ],
  ]),
  ...mutationsOf('worker/ensure-schedule.ts', temporal, [
    ['sweeps run side by side', "overlap: 'SKIP'", "overlap: 'ALLOW_ALL'"],
  ]),
  ...mutationsOf(
    'runtime/secrets.ts',
    ['test/runtime/*'],
    [
      ['a tag of four bytes is taken', 'authTagLength: 16,', ''],
      [
        'nobody hears that a secret was sealed under another key',
        'sealedBy !== keyId',
        'sealedBy === undefined',
      ],
    ],
  ),
  ...mutationsOf(
    'workflows/schedule.ts',
    ['test/workflows'],
    [
      [
        'an older message wins over a newer one',
        'if (revision > schedule.revision) {',
        'if (revision > 0) {',
      ],
    ],
  ),
];
