import { mutationsOf, type Mutation } from './mutation.ts';

const networks = ['test/networks'];

/** What the networks take, what their errors mean, and how a lost post is found. */
export const networkMutations: readonly Mutation[] = [
  ...mutationsOf('networks/x/rules.ts', networks, [
    ['281 characters fit X', 'max: 280', 'max: 281'],
    ['two cashtags are taken', 'maxCashtags = 1', 'maxCashtags = 2'],
  ]),
  ...mutationsOf('networks/x/weighted-length.ts', networks, [
    [
      'accents hold up everybody',
      'const maxAccentSquares = 5000 ** 2',
      'const maxAccentSquares = 5e9',
    ],
    ['a link is as long as it is written', 'filler(linkLength)', 'filler(link.end - link.start)'],
    ['half an emoji is a whole one', 'emoji && emoji.index < at', 'false as boolean'],
  ]),
  ...mutationsOf('networks/x/find-links.ts', networks, [
    ['a domain ends at its first ending', 'endBeyond === 0 && start', 'endHere > 0 && start'],
    ['a link begins within the one before', 'start > after && unit', 'unit'],
    ['a link has any length', 'maxLink: 4096', 'maxLink: 40_960'],
    ['a label has any length in Punycode', 'asked < others.length', 'asked < 0'],
  ]),
  ...mutationsOf('networks/x/link-patterns.ts', networks, [
    ['brackets behind a path are no part of it', '?(?:${balanced})*`', '?`'],
  ]),
  ...mutationsOf('networks/x/adapter.ts', networks, [
    ['a post of another thread is taken for ours', 'return inPlace && (', 'return ('],
    [
      'what X has already is never looked for',
      "error.code === 'duplicate'",
      "error.code === 'processing'",
    ],
  ]),
  ...mutationsOf('networks/x/refusal.ts', networks, [
    ['a thread that X stops lacks a permission', 'if (isReply) {', 'if (false as boolean) {'],
  ]),
  ...mutationsOf('networks/x/upload/send-segments.ts', networks, [
    [
      'an upload that broke off begins anew',
      'await upload.place.keep({ ...from, segments });',
      'void upload.place.keep;',
    ],
  ]),
  ...mutationsOf('networks/x/upload/kept-files.ts', networks, [
    [
      'a file is used that X is about to forget',
      'expiryMarginMs = 5 * 60_000',
      'expiryMarginMs = 0',
    ],
  ]),
  ...mutationsOf('networks/x/same-text.ts', networks, [
    [
      'links of a text are not compared',
      'shown === null || sent === null || shown === sent;',
      "shown !== '-' || sent === '-';",
    ],
  ]),
  ...mutationsOf('networks/linkedin/rules.ts', networks, [
    ['a video of LinkedIn lasts thirty seconds', '30 * 60_000', '30_000'],
  ]),
  ...mutationsOf('networks/linkedin/prepared.ts', networks, [
    ['a duplicate is ours without any doubt', 'prepared.isDoubted === true && ', ''],
    ['a duplicate of any age is ours', ' && mayBeOf(prepared, idTimeMs(urn))', ''],
  ]),
  ...mutationsOf('networks/linkedin/posts.ts', networks, [
    ['a limit ends a doubt', 'if (isOpen && error', 'if (false && error'],
  ]),
  ...mutationsOf('networks/linkedin/uploads/upload-video.ts', networks, [
    ['a video begins anew at each try', '? kept.upload', '? null'],
  ]),
  ...mutationsOf('networks/linkedin/client.ts', networks, [
    [
      'any address for an upload gets the token',
      'withToken && isOurs(url, access.server.baseUrl)',
      'withToken',
    ],
  ]),
  ...mutationsOf('networks/youtube/rules.ts', networks, [
    ['a description is counted in characters', 'Buffer.byteLength(text)', 'text.length'],
  ]),
  ...mutationsOf('networks/youtube/title.ts', networks, [
    [
      'a title that was made is one character too long',
      "maxTitleLength - '…'.length",
      'maxTitleLength',
    ],
  ]),
  ...mutationsOf('networks/validation/texts.ts', networks, [
    ['bytes are not counted', 'if (length <= max) {', "if (length <= max || unit === 'bytes') {"],
    [
      'any part of a thread may be without a text',
      'const hasFile = (media[index] ?? []).length > 0;',
      'const hasFile = true;',
    ],
  ]),
  ...mutationsOf('networks/validation/content.ts', networks, [
    ['the files of later parts are not looked at', 'Math.max(1, content.texts.length)', '1'],
  ]),
  ...mutationsOf('networks/bluesky/session.ts', networks, [
    [
      'a session that the server refuses is not renewed',
      'if (!isTokenRefused(response)) {\n      return response;\n    }',
      'return response;',
    ],
    [
      'a new session is not kept',
      'await connection.saveSession({ accessJwt } satisfies Session);',
      '',
    ],
  ]),
  ...mutationsOf('networks/bluesky/write-thread.ts', networks, [
    ['a post that is not ours counts as written', 'if (cid === post.cid)', 'if (cid !== null)'],
  ]),
  ...mutationsOf('networks/bluesky/client.ts', networks, [
    [
      'an expired token is refused content',
      "name === 'ExpiredToken' || name === 'InvalidToken'",
      "name === 'InvalidToken'",
    ],
  ]),
  ...mutationsOf('networks/mastodon/rules.ts', networks, [
    ['a link counts one too many', '(linkLength - 1)', 'linkLength'],
    ['a text has any number of bytes', 'maxBytesPerCharacter = 50', 'maxBytesPerCharacter = 5000'],
  ]),
  ...mutationsOf('networks/mastodon/adapter.ts', networks, [
    [
      'a part is looked for anywhere',
      'const inPlace = (status.in_reply_to_id ?? null) === parentId;',
      'const inPlace = true;',
    ],
  ]),
  ...mutationsOf('networks/mastodon/statuses.ts', networks, [
    ['the address of a post may be a megabyte', 'maxLength: 2048', 'maxLength: 2_048_000'],
    ['an address may be any text', 'addressFault(address) === null', "address !== ''"],
    ['a page may have any number of statuses', 'pageSize * 2', 'pageSize * 2000'],

    [
      'of more than a page of newer posts the first page is looked at',
      'maxPages = 10',
      'maxPages = 1',
    ],
  ]),
  ...mutationsOf('networks/mastodon/same-text.ts', networks, [
    [
      'a text of emoji is any other text of emoji',
      "letters === sought.letters && (letters !== '' || bare(said) === sought.bare)",
      'letters === sought.letters',
    ],
  ]),
  ...mutationsOf('networks/mastodon/client.ts', networks, [
    [
      'a proxy that gives up proves that nothing was posted',
      'status >= 300 && status < 500 && status !== 408',
      'status >= 300 && status <= 504 && status !== 408',
    ],
  ]),
  ...mutationsOf('networks/send-request.ts', networks, [
    [
      'a send without an answer is certainly not there',
      "purpose === 'create' && certainlyNot ? 'no' : 'unknown'",
      "purpose === 'create' ? 'no' : 'unknown'",
    ],
  ]),
  ...mutationsOf('networks/answer.ts', networks, [
    ['a network is waited for longer than a day', 'Math.min(atMs, nowMs + maxWaitMs)', 'atMs'],
  ]),
  ...mutationsOf('networks/validation/files.ts', networks, [
    [
      'an upright video may be of any shape',
      'width > height * maxAspect || height > width * maxAspect',
      'width > height * maxAspect',
    ],
  ]),
  ...mutationsOf('networks/without-secrets.ts', networks, [
    [
      'a secret that a server repeats is shown',
      'new Set(secrets.flatMap(spellingsOf))',
      'new Set(secrets.slice(99))',
    ],
    ['the beginning of a secret that is cut is shown', 'isCut && end', 'false && end'],
  ]),
];
