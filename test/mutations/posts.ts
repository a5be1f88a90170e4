import { mutationsOf, type Mutation } from './mutation.ts';

const quotas = ['test/api/quotas', 'test/cli'];
const posts = ['test/api/posts', 'test/api/contract'];
const isolation = ['test/api/isolation'];

/** What the API does to posts: whose they are, what is refused, what a cancel, an edit or a retry leaves. */
export const postMutations: readonly Mutation[] = [
  ...mutationsOf('db/post-view.ts', isolation, [
    [
      'a post of another workspace is shown',
      'p.id = ${postId} and p.workspace_id = ${workspaceId}`',
      'p.id = ${postId} and ${workspaceId}::uuid is not null`',
    ],
  ]),
  ...mutationsOf('api/posts/choose-channels.ts', isolation, [
    [
      'a post goes to a channel of another workspace',
      'where workspace_id = ${workspaceId} and id',
      'where (workspace_id = ${workspaceId} or true) and id',
    ],
  ]),
  ...mutationsOf('api/posts/post-media.ts', isolation, [
    [
      'a post shows a file of another workspace',
      '{ id: { $in: wellFormed }, workspaceId, deletedAt: null }',
      '{ id: { $in: wellFormed }, deletedAt: null }',
    ],
  ]),
  ...mutationsOf('api/posts/read-posts.ts', isolation, [
    [
      'posts of all workspaces are listed',
      'where p.workspace_id = ${workspaceId} ${ofStatus}',
      'where true ${ofStatus}',
    ],
  ]),
  ...mutationsOf('api/posts/read-posts.ts', posts, [
    [
      'posts of one instant are lost between two pages',
      'order by p.created_at desc, p.id desc',
      'order by p.created_at desc, p.id',
    ],
  ]),
  ...mutationsOf('db/post-channels.ts', posts, [
    [
      'a channel that waits for its next try is not stopped',
      "(pc.status = 'scheduled' or pc.status = 'retrying' and",
      "(pc.status = 'scheduled' or pc.status = 'draft' and",
    ],
    [
      'a retry sends to a channel that may have the post',
      "and pc.status = 'failed'\n",
      "and pc.status in ('failed', 'unconfirmed')\n",
    ],
  ]),
  ...mutationsOf(
    'db/post-channels.ts',
    ['test/activities'],
    [
      [
        'a second cancel forgets that a send is in doubt',
        "and pc.status = 'scheduled' and (${hasOpenPart} or ${isLiveAsWhole})",
        "and pc.status = 'scheduled' and ${isLiveAsWhole}",
      ],
    ],
  ),
  ...mutationsOf(
    'workflows/schedule.ts',
    ['test/workflows'],
    [
      [
        'a sleeping workflow ends although a channel is to be finished',
        'isUnfinished: signal.isUnfinished',
        'isUnfinished: false',
      ],
    ],
  ),
  ...mutationsOf('api/posts/cancel-post.ts', posts, [
    [
      'the channels that are being sent are not counted',
      "status === 'publishing' || status === 'retrying'",
      "status === 'retrying'",
    ],
  ]),
  ...mutationsOf(
    'db/ledger/live-parts.ts',
    ['test/workflows'],
    [
      [
        'a cancel forgets that a send is in doubt',
        "hasOpenPart = hasPart(openInSql('pp'))",
        "hasOpenPart = hasPart(sql`pp.state = 'never'`)",
      ],
    ],
  ),
  ...mutationsOf('api/posts/edit-post.ts', posts, [
    [
      'a post that is out can be edited',
      "status !== 'draft' && status !== 'scheduled'",
      "status !== 'draft' && status !== 'scheduled' && status !== 'published'",
    ],
  ]),
  ...mutationsOf(
    'api/posts/edit-post.ts',
    ['test/workflows'],
    [
      [
        'Temporal does not hear of a new time',
        'timeChanged ? post.revision + 1 : post.revision',
        'post.revision',
      ],
    ],
  ),
  ...mutationsOf(
    'api/posts/edit-post.ts',
    ['test/activities'],
    [['what was prepared for a cancelled run goes out after an edit', 'post.run += 1;', '']],
  ),
  ...mutationsOf(
    'api/posts/edit-channels.ts',
    [...posts, 'test/workflows'],
    [
      [
        'an edit takes an unconfirmed channel off its post',
        "['draft', 'scheduled', 'failed'].includes",
        "['draft', 'scheduled', 'failed', 'unconfirmed'].includes",
      ],
    ],
  ),
  ...mutationsOf('api/posts/post-content.ts', posts, [
    [
      'null does not clear a thread',
      'request.thread === undefined ? stored.thread : request.thread',
      'request.thread ?? stored.thread',
    ],
  ]),
  ...mutationsOf('api/posts/edit-media.ts', posts, [
    [
      'an edit that does not speak of files takes those that came by URL',
      '(fromUrl ? urls : first.ids) === undefined',
      '(fromUrl ? first.ids : urls) === undefined',
    ],
  ]),
  ...mutationsOf('api/posts/retry-post.ts', posts, [
    [
      'a retry needs no plan',
      '  assertHasPlan(caller);\n  const { workspaceId }',
      '  const { workspaceId }',
    ],
  ]),
  ...mutationsOf('api/posts/settle-post.ts', posts, [
    [
      '"it is not there" is believed while the network may still write it',
      'const waitMs = appearsWithinMs - sendingForMs',
      'const waitMs = sendingForMs - appearsWithinMs',
    ],
    [
      'a thread that lacks parts is published',
      'if (ledger.missing.length > 0)',
      'if (ledger.missing.length > 1)',
    ],
    [
      'a settled post that has ended tells nobody',
      "post.status === 'failed' || post.status === 'published'",
      "post.status === 'published'",
    ],
  ]),
  ...mutationsOf(
    'api/posts/settle-post.ts',
    ['test/activities'],
    [
      ['two posts are settled as one', '  if (other !== null) {', "  if (other === '') {"],
      [
        'two posts are settled as one at the same moment',
        '      await lockClaims(em, channelId);\n',
        '',
      ],
    ],
  ),
  ...mutationsOf('api/posts/idempotency.ts', posts, [
    [
      'keys are shared by all workspaces',
      'where workspace_id = ${workspaceId} and key',
      'where (workspace_id = ${workspaceId} or true) and key',
    ],
    [
      'a key with another request answers with the first post',
      'if (row && row.fingerprint !== print)',
      'if (row && row.fingerprint === undefined)',
    ],
    ['the order of fields makes another request', '.toSorted(([a], [b]) => (a < b ? -1 : 1))', ''],
  ]),
  ...mutationsOf('api/posts/idempotency.ts', posts, [
    [
      'of two requests at once with one key both make a post',
      'if (claimed.length === 0)',
      'if (claimed.length > 1)',
    ],
  ]),
  ...mutationsOf(
    'api/posts/store-post.ts',
    ['test/temporal'],
    [
      [
        'a post of which Temporal did not hear is in no outbox',
        'dueAt ? 0 : firstRevision',
        'firstRevision',
      ],
    ],
  ),
  ...mutationsOf('api/quotas/post-quota.ts', quotas, [
    [
      'room of a share that has none is taken',
      'and (c.scheduled <= 0 or q.scheduled >= c.scheduled)',
      '',
    ],
    [
      'a quota that was set is heeded when the old room is used up',
      ' and q.basis = ${basisOf(quotas)}',
      '',
    ],
    ['posts that are being made are not counted', '(await lockShares(em, workspaceId)) ?? 0', '0'],
  ]),
  ...mutationsOf('db/quota-use.ts', quotas, [
    ['uploads at once pass the quota together', ' for no key update', ''],
  ]),
  ...mutationsOf('api/quotas/media-quota.ts', quotas, [
    ['files pass the quota while they come', 'stored + part.ofAll() <= quotas', 'stored <= quotas'],
    ['uploads at once fill the disk together', 'unchecked >= stepBytes || ', ''],
    ['a request that is over counts on', 'release: () => add(-own)', 'release: () => undefined'],
  ]),
  ...mutationsOf('db/quota-shares.ts', quotas, [
    ['drafts that a cancel made do not count', 'scheduled = 0, drafts = 0', 'scheduled = 0'],
    ['a quota that is set counts no text anew', 'when share = 0', 'when share < 0'],
  ]),
  ...mutationsOf('domain/quotas.ts', quotas, [
    ['a lower quota refuses what does not grow', 'change[quota] > 0 && ', ''],
    [
      'scheduling and cancelling in turns makes drafts without end',
      ' - Math.max(0, drafts - quotas.drafts)',
      '',
    ],
  ]),
  ...mutationsOf('api/posts/post-content.ts', posts, [
    [
      'a text of spaces is taken',
      "const blank = texts.filter(([, text]) => text.trim() === '')",
      "const blank = texts.filter(([, text]) => text === '')",
    ],
  ]),
  ...mutationsOf('api/posts/validate-content.ts', posts, [
    [
      'a post without a channel is scheduled',
      'if (validations.length === 0)',
      'if (validations.length < 0)',
    ],
  ]),
];
