import { mutationsOf, type Mutation } from './mutation.ts';

const http = ['test/api/*', 'test/api/bad-input', 'test/api/contract'];
const limits = ['test/api/rate-limits'];
const isolation = ['test/api/isolation'];
const webhooks = ['test/api/webhooks'];

/** Keys, limits, bodies and queries; webhook endpoints and media. */
export const apiMutations: readonly Mutation[] = [
  ...mutationsOf('api/http/authenticate.ts', http, [
    ['a key that was revoked lets in', ' and k.revoked_at is null', ''],
  ]),
  ...mutationsOf(
    'api/http/authenticate.ts',
    ['test/cli/keys'],
    [['a key’s use is never written down', 'set last_used_at = now()', 'set last_used_at = null']],
  ),
  ...mutationsOf(
    'api/http/cursor.ts',
    [...http, 'test/api/posts'],
    [
      [
        'a cursor that no list gave is taken',
        'cursor === null || encodeCursor(cursor) !== given',
        'cursor === null',
      ],
    ],
  ),
  ...mutationsOf('api/http/mount.ts', limits, [
    [
      'an edit and a deletion are no writes',
      "route.method !== 'get' &&",
      "route.method === 'post' &&",
    ],
  ]),
  ...mutationsOf('api/http/admission.ts', limits, [
    [
      'a write counts as a request only',
      'isWrite && !asRequest.refused ?',
      'isWrite && asRequest.refused ?',
    ],
  ]),
  ...mutationsOf('api/rate-limits/limiter.ts', limits, [
    [
      'the last call of the quota is refused',
      'refused: position > quota',
      'refused: position >= quota',
    ],
  ]),
  ...mutationsOf('api/rate-limits/crowd.ts', limits, [
    ['each IPv6 address has wrong keys of its own', 'toByteArray().slice(0, 8)', 'toByteArray()'],
  ]),
  ...mutationsOf(
    'api/http/errors.ts',
    ['test/api/webhooks', 'test/api/contract'],
    [
      [
        'one endpoint too many is a bad request',
        'webhook_limit_reached: 409',
        'webhook_limit_reached: 400',
      ],
    ],
  ),
  ...mutationsOf('api/http/errors.ts', limits, [
    [
      'a refused call is always asked to come back in two seconds',
      'error.retryAfter ?? retryAfter',
      'retryAfter',
    ],
  ]),
  ...mutationsOf(
    'api/http/errors.ts',
    ['test/api/outages'],
    [
      [
        'an outage of the database is an error of ours',
        'if (isDatabaseAway(error))',
        'if (isDatabaseAway(error) && !error)',
      ],
    ],
  ),
  ...mutationsOf('api/http/read-body.ts', http, [
    ['bytes that are no UTF-8 become U+FFFD', 'fatal: true', 'fatal: false'],
    [
      'an escaped quote ends a string of which levels are counted',
      '(end - escapes) % 2 === 0',
      'end >= escapes',
    ],
  ]),
  ...mutationsOf('api/http/read-query.ts', http, [
    [
      'an unknown query parameter is overlooked',
      'if (details.length === 0)',
      'if (details.length < 2)',
    ],
  ]),
  ...mutationsOf('api/webhooks/write-endpoints.ts', isolation, [
    [
      'an endpoint of another workspace is deleted',
      'nativeDelete(WebhookEndpoint, { id, workspaceId })',
      'nativeDelete(WebhookEndpoint, { id })',
    ],
  ]),
  ...mutationsOf('api/webhooks/write-endpoints.ts', webhooks, [
    ['a workspace has eleven endpoints', '>= maxEndpoints)', '> maxEndpoints)'],
    [
      'an endpoint that is enabled again has what is left of five days',
      'disabledReason: null, failingSince: null',
      'disabledReason: null',
    ],
    [
      'the same URL sent again begins five days anew',
      'from === to ? {} :',
      'from === `${to}#` ? {} :',
    ],
  ]),
  ...mutationsOf(
    'api/webhooks/read-deliveries.ts',
    [...isolation, ...webhooks],
    [
      [
        'a delivery of another endpoint is found',
        'where d.endpoint_id = ${endpointId} and d.workspace_id',
        'where (d.endpoint_id = ${endpointId} or true) and d.workspace_id',
      ],
    ],
  ),
  ...mutationsOf('api/webhooks/replay-deliveries.ts', webhooks, [
    [
      'a replay begins with the attempts that were made',
      '(select coalesce(max(number), 0) from delivery_attempts a',
      '(select 0 * coalesce(max(number), 0) from delivery_attempts a',
    ],
    [
      'what is older than the given time is replayed',
      'created_at >= ${readSince(since)}',
      "created_at >= ${readSince(since)}::timestamptz - interval '1 day'",
    ],
    ['a failed test call comes again', "e.type = 'webhook.test'", "e.type = 'webhook.tests'"],
  ]),
  ...mutationsOf('api/webhooks/rotate-secret.ts', webhooks, [
    [
      'a second rotation drops the secret that receivers know',
      'const { current } = secretsOf(stored, now);',
      'const { current: now0, next } = secretsOf(stored, now);\n    const current = next ?? now0;',
    ],
  ]),
  ...mutationsOf(
    'api/media/serve-files.ts',
    ['test/api/media'],
    [
      [
        'a range ends one byte behind the file',
        'const last = sizeBytes - 1',
        'const last = sizeBytes',
      ],
    ],
  ),
  ...mutationsOf(
    'api/media/download-media.ts',
    ['test/api/media'],
    [['a page that says 404 is a file', 'found.status !== 200', 'found.status >= 500']],
  ),
  ...mutationsOf(
    'api/media/library.ts',
    ['test/api/media'],
    [
      [
        'a sign of LIKE in a search finds everything',
        String.raw`.replaceAll(/[\\%_]/gv, `,
        String.raw`.replaceAll(/[\\%]/gv, `,
      ],
      ['deleted files are listed', ' and deleted_at is null\n', '\n'],
    ],
  ),
  ...mutationsOf(
    'api/media/library.ts',
    ['test/api/media'],
    [
      [
        'a file is deleted while its post is being published',
        "p.status in ('scheduled', 'publishing')",
        "p.status in ('scheduled')",
      ],
    ],
  ),
  ...mutationsOf(
    'api/media/unclaimed-files.ts',
    ['test/api/media'],
    [['a file that no row claims stays in the storage', 'await storage.remove(id);', '']],
  ),
  ...mutationsOf(
    'api/media/compare-storage.ts',
    ['test/api/media'],
    [
      ['a new database before an old storage removes its files', 'madeAtMs(key) > begin && ', ''],
      [
        'a copy of a database removes files that came after it',
        'others.length > 0',
        'others.length > 9',
      ],
    ],
  ),
  ...mutationsOf(
    'api/channels/routes.ts',
    [...isolation, 'test/api/*'],
    [
      [
        'channels of all workspaces are listed',
        '{ workspaceId, disconnectedAt: null }',
        '{ disconnectedAt: null }',
      ],
    ],
  ),
];
