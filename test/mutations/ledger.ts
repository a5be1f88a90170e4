import { mutationsOf, type Mutation } from './mutation.ts';

const activities = ['test/activities'];

/** How a post is claimed, sent once to each channel, and ended; what the sweep finds. */
export const ledgerMutations: readonly Mutation[] = [
  ...mutationsOf(
    'activities/claim-post.ts',
    [...activities, 'test/workflows'],
    [
      [
        'a post is claimed before its time',
        "status = 'scheduled' and scheduled_at <= ${dueBy}",
        "status = 'scheduled' and ${dueBy}::timestamptz is not null",
      ],
      [
        'a post that was edited meanwhile is claimed with its old channels',
        ' and posts.xmin::text = seen.version',
        '',
      ],
    ],
  ),
  ...mutationsOf('activities/publish-channel/start-attempt.ts', activities, [
    [
      'a try begins with what it had read before somebody changed the post',
      'and p.version = seen.version and',
      'and',
    ],
    ['a try begins by a post that was cancelled in the meantime', ' for share)`', ')`'],
  ]),
  ...mutationsOf('db/ledger/intents.ts', activities, [
    [
      'a limit that was met while a post prepared is no reason to wait for it',
      'limit && limit.untilMs > now.getTime()',
      'limit && limit.untilMs < now.getTime()',
    ],
    [
      'a try of a publishing that is over sends all the same',
      ' and channel.run = ${run}',
      ' and ${run}::int is not null',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/intent.ts', activities, [
    ['a request is written however old its intent is', '<= writtenWithinMs', '<= Infinity'],
  ]),
  ...mutationsOf('activities/publish-channel/reconcile.ts', activities, [
    [
      'a send is repeated while the post may still appear',
      'if (sendingForMs < network.rules.appearsWithinMs)',
      'if (sendingForMs > network.rules.appearsWithinMs)',
    ],
  ]),
  ...mutationsOf('db/ledger/claims.ts', activities, [
    [
      'two posts of equal text claim the same live one',
      '.filter((parts) => !has(false, parts))',
      '.filter((parts) => parts.length > 0)',
    ],
    [
      'a post takes what a person settled as that of another',
      'pp.remote_id is null and pp.url = any',
      'pp.remote_id is null and pp.url is null and pp.url = any',
    ],
    [
      'a post takes what a person settled as that of another, of which a restored database had nothing',
      'pc.settled_at is not null',
      'pc.settled_at is null',
    ],
    [
      'a thread goes on after another post than the one that a person settled',
      '...free.filter((parts) => has(true, parts)),',
      '...free.filter((parts) => parts.length === 0),',
    ],
  ]),
  ...mutationsOf('db/ledger/marks.ts', activities, [
    [
      'a try that hung undoes what another one has sent since',
      'and pp.sending_at is not distinct from sent.sending_at',
      'and true',
    ],
  ]),
  ...mutationsOf('db/ledger/part-states.ts', activities, [
    [
      'a send of an earlier publishing that is in doubt is forgotten',
      "in ('sent', 'sending', 'doubted')",
      "in ('sent')",
    ],
  ]),
  ...mutationsOf('activities/account/channel-account.ts', activities, [
    ['an old access that is refused loses the new one', '?? false', '&& false'],
  ]),
  ...mutationsOf('accounts/lose-access.ts', activities, [
    [
      'every post that meets a lost access tells of it again',
      " and state = 'connected' and",
      ' and',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/load-job.ts', activities, [
    [
      'a post goes out with a file that was deleted',
      'row.deleted_at === null ? await openStored(deps, row, fromByte) : null',
      'await openStored(deps, row, fromByte)',
    ],
    ['files go out in the wrong order', 'order by pm.position', 'order by pm.position desc'],
  ]),
  ...mutationsOf('db/network-limits.ts', activities, [
    [
      'a later answer shortens a limit',
      'set parked_until = greatest(parked_until, ${until})',
      'set parked_until = ${until}',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/record-failure.ts', activities, [
    ['a rate limit counts as a try', 'counts ? 1 : 0', '1'],
    [
      'a post that was scheduled anew has a channel that is a draft',
      "post === 'scheduled' ? 'scheduled' : 'draft'",
      "'draft'",
    ],
    [
      'a thread that was cancelled midway stops without a trace',
      "status === 'publishing' || (status === 'draft' && entries.some(isOut))",
      "status === 'publishing'",
    ],
  ]),
  ...mutationsOf('db/ledger/part-states.ts', activities, [
    [
      'a send without an answer has failed',
      "state === 'sending' || state === 'doubted'",
      "state === 'refused'",
    ],
  ]),
  ...mutationsOf('activities/publish-channel/send-thread.ts', activities, [
    [
      'what lengthens a thread stands by itself',
      'missing, deps.now().getTime(), before)',
      'missing, deps.now().getTime())',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/send-thread.ts', activities, [
    [
      'what was cancelled is sent once it is certain that nothing came of it',
      'job.isFinishing && sent.length === 0',
      'job.isFinishing && sent.length < 0',
    ],
    ['what is late by more than a day is sent after a look', 'isDayOver(deps, job)', 'false'],
    ['a network that swallows everything is sent to all day', 'job.tries >= mostTries', 'false'],
  ]),
  ...mutationsOf('domain/next-try.ts', activities, [
    ['looks are tries', 'counts: isSend', 'counts: true'],
    [
      'a look is made after the end of the day',
      'Math.max(nowMs + waitMs, retryAtMs), endMs',
      'Math.max(nowMs + waitMs, retryAtMs), Infinity',
    ],
    ['a network that cannot tell is asked all day', "code === 'unconfirmed' || nowMs", 'nowMs'],
  ]),
  ...mutationsOf('db/refinalize-post.ts', activities, [
    [
      'a cancelled post whose workflow is lost stays a draft when its last channel has ended',
      'if (!(await goesOn(em, scope, hasNotEnded))) {',
      'if (await goesOn(em, scope, hasNotEnded)) {',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/record-success.ts', activities, [
    [
      'a post that came to light after its end tells nobody',
      "and status = 'publishing' returning id",
      'returning id',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/send-thread.ts', activities, [
    ['what was held back keeps the time of its first try', '!network.renew ||', 'network.renew ||'],
    [
      'a lost post is looked for before it can be told',
      'Math.max(error.retryAtMs ?? 0, tellsAtMs)',
      'error.retryAtMs ?? 0',
    ],
    [
      'a post goes out without a file that its adapter left behind',
      'files.length !== media.length',
      'files.length > media.length',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/server-slots.ts', activities, [
    [
      'a server that hangs is sent as much as one that answers',
      'else ${sql.lit(slotsPerServer.silent)} end',
      'else ${sql.lit(slotsPerServer.answering)} end',
    ],
    [
      'a crowd of one workspace holds all places of a server',
      '4 * room.own < ${share} * room.slots',
      'room.own >= 0',
    ],
    [
      'the place of a worker that died is held for ever',
      "s.taken_until is null or not ${isHeld('s')} or",
      's.taken_until is null or',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/server-slots.ts', activities, [
    ['every pause is as long as the first', 'power(2, least(', 'power(1, least('],
    [
      'a server that answers again is left alone all the same',
      'set failures = 0, pauses = 0, open_until = null',
      'set failures = failures',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/classify-error.ts', activities, [
    [
      'an outage of the database is told as a fault of the channel',
      '    isDatabaseAway(error) ||\n',
      '',
    ],
  ]),
  ...mutationsOf('activities/publish-channel/pacing.ts', activities, [
    [
      'a post that nobody comes back to holds up the others for hours',
      "interval '2 minutes'",
      "interval '2 hours'",
    ],
    [
      'overdue posts go out in any order',
      ', id) < (${at}::timestamptz, ${postId}::uuid)\n    limit 1) p',
      ', id) <> (${at}::timestamptz, ${postId}::uuid)\n    limit 1) p',
    ],
  ]),
  ...mutationsOf('activities/finalize-post/finalized.ts', activities, [
    [
      'an end that is written again ends the retry',
      '(canceled ? heard : (claimed ?? heard))',
      'heard',
    ],
  ]),
  ...mutationsOf(
    'activities/finalize-post/finalize-post.ts',
    [...activities, 'test/webhooks', 'test/workflows'],
    [
      [
        'an event says what the channels were before the post ended',
        ' and xmin::text = ${row.version} returning id',
        ' and ${row.version}::text is not null returning id',
      ],
      [
        'an endpoint gets events that it did not subscribe to',
        'events.includes(type)',
        'events.length > 0',
      ],
    ],
  ),
  ...mutationsOf('activities/sweep/sweep-posts.ts', activities, [
    [
      'a post of the outbox is looked at',
      "'publishing') and p.synced_revision >= p.revision\n",
      "'publishing')\n",
    ],
    [
      'a cancelled post whose workflow sleeps until another time is finished then',
      'and p.updated_at < ${at(-publishingMs)} as is_late',
      'and p.updated_at > ${at(-publishingMs)} as is_late',
    ],
    [
      'what is found of a post with a forgotten revision is never told',
      'revision = p.synced_revision + 1',
      'revision = p.revision + 1',
    ],
  ]),
  ...mutationsOf('activities/sweep/sweep-deliveries.ts', activities, [
    [
      'a delivery whose workflow is gone stays so',
      'synced_round = d.round - 1 from same',
      'synced_round = d.round from same',
    ],
  ]),
  ...mutationsOf('activities/sweep/purge-expired.ts', activities, [
    [
      'a delivery that is still being tried is forgotten',
      "status <> 'pending' and created_at < ${before}",
      'created_at < ${before}',
    ],
  ]),
  ...mutationsOf('temporal/workflow-states.ts', activities, [
    [
      'while Temporal does not answer posts are taken for lost',
      "error instanceof WorkflowNotFoundError ? 'gone' : 'unknown'",
      "'gone'",
    ],
  ]),
];
