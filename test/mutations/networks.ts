import { mutationsOf, type Mutation } from './mutation.ts';

const mastodon = (...names: readonly string[]): string[] =>
  names.map((name) => `test/networks/mastodon/*${name}*`);
const bluesky = (...names: readonly string[]): string[] =>
  names.map((name) => `test/networks/bluesky/*${name}*`);

/** What the networks take, what their errors mean, and how a lost post is found. */
export const networkMutations: readonly Mutation[] = [
  ...mutationsOf(
    'networks/x/rules.ts',
    ['test/networks/x'],
    [
      ['281 characters fit X', 'errors: length > maxLength ?', 'errors: length > maxLength + 1 ?'],
      ['two cashtags are taken', 'maxCashtags = 1', 'maxCashtags = 2'],
    ],
  ),
  ...mutationsOf(
    'networks/linkedin/rules.ts',
    ['test/networks/linkedin'],
    [['a video of LinkedIn lasts thirty seconds', '30 * 60_000', '30_000']],
  ),
  ...mutationsOf(
    'networks/youtube/rules.ts',
    ['test/networks/youtube'],
    [['a description is counted in characters', 'Buffer.byteLength(text)', 'text.length']],
  ),
  ...mutationsOf(
    'networks/youtube/title.ts',
    ['test/networks/youtube'],
    [
      [
        'a title that was made is one character too long',
        "maxTitleLength - '…'.length",
        'maxTitleLength',
      ],
    ],
  ),
  ...mutationsOf('networks/bluesky/rules.ts', bluesky('rules'), [
    ['bytes are not counted', 'length > limit\n', "length > limit && unit === 'characters'\n"],
  ]),
  ...mutationsOf('networks/bluesky/session.ts', bluesky('session'), [
    [
      'a handle that went to somebody else gets the post',
      'did !== connection.remoteId',
      "did === ''",
    ],
    [
      'a new session is not kept',
      'await connection.saveSession({ accessJwt } satisfies Session);',
      '',
    ],
  ]),
  ...mutationsOf('networks/bluesky/look-up.ts', bluesky('repeat'), [
    ['a post that is not ours counts as written', 'if (cid === post.cid)', 'if (cid !== null)'],
  ]),
  ...mutationsOf(
    'networks/bluesky/errors.ts',
    [...bluesky('session'), 'test/networks/*refusals*'],
    [
      [
        'an expired token is refused content',
        "name === 'ExpiredToken' || name === 'InvalidToken'",
        "name === 'InvalidToken'",
      ],
    ],
  ),
  ...mutationsOf('networks/mastodon/status-length.ts', mastodon('rules'), [
    ['a link counts one too many', '(charactersReservedPerUrl - 1)', 'charactersReservedPerUrl'],
  ]),
  ...mutationsOf('networks/mastodon/index.ts', mastodon('reconcile'), [
    [
      'a part is looked for anywhere',
      'const inPlace = (status.in_reply_to_id ?? null) === parentId;',
      'const inPlace = true;',
    ],
  ]),
  ...mutationsOf('networks/mastodon/own-statuses.ts', mastodon('reconcile'), [
    [
      'of more than a page of newer posts the first page is looked at',
      'maxPages = 10',
      'maxPages = 1',
    ],
  ]),
  ...mutationsOf('networks/mastodon/same-text.ts', mastodon('same-text'), [
    [
      'a text of emoji is any other text of emoji',
      "letters === sent && (sent !== '' || bare(content) === bare(text))",
      'letters === sent',
    ],
  ]),
  ...mutationsOf('networks/mastodon/errors.ts', mastodon('refusals'), [
    [
      'a proxy that gives up proves that nothing was posted',
      'status >= 300 && status < 500 && status !== 408',
      'status >= 300 && status <= 504 && status !== 408',
    ],
  ]),
  ...mutationsOf(
    'networks/ask.ts',
    ['test/networks/*refusals*', ...mastodon('refusals'), ...bluesky('repeat')],
    [
      [
        'a send without an answer is certainly not there',
        "purpose === 'create' && certainlyNot ? 'no' : 'unknown'",
        "purpose === 'create' ? 'no' : 'unknown'",
      ],
    ],
  ),
  ...mutationsOf(
    'networks/retry-at.ts',
    ['test/networks/*retry-at*'],
    [
      [
        'a network is waited for longer than a day',
        'Math.min(Math.max(atMs, nowMs), nowMs + maxWaitMs)',
        'Math.max(atMs, nowMs)',
      ],
    ],
  ),
  ...mutationsOf(
    'networks/judge/files.ts',
    ['test/networks/*rules*', 'test/networks/x'],
    [
      [
        'an upright video may be of any shape',
        'width > height * maxAspect || height > width * maxAspect',
        'width > height * maxAspect',
      ],
    ],
  ),
  ...mutationsOf(
    'networks/quote.ts',
    ['test/networks/*quote*'],
    [
      [
        'a secret that a server repeats is shown',
        ".reduce((text, secret) => text.replaceAll(secret, '…'), words)",
        '.reduce((text) => text, words)',
      ],
    ],
  ),
];
