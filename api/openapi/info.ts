/** The version of the interface, not of the program; its major number is the `v1` in every path. */
const version = '1.0.0';

const description = `Schedule social posts and hear what became of them.

**Authentication.** Every call needs \`Authorization: Bearer <API key>\`; keys begin with \`svc_live_\`. Press
*Authorize*, paste yours, and *Try it out* works on every call below.

**Requests.** Bodies are JSON of at most 1 MB; an upload is \`multipart/form-data\` of at most 200 MB. They and the
query are read strictly: an unknown field or parameter is 400 and named. Of a field that is given twice the last
counts. Times come in as RFC 3339 with \`Z\` or an offset, and go out in UTC with milliseconds.

**Answers.** Every answer carries \`X-Request-Id\`. What is not a success is \`{error, code}\`: \`error\` is a
sentence for people, \`code\` is for programs and never changes its meaning, and \`details\` says where it is,
if that can be said. A path that is known but takes another method answers 405 \`method_not_allowed\` with the
\`Allow\` header. A malformed id in a path answers as an unknown one does: 404. Answers and events may grow: take
fields that you do not know.

**Lists.** The newest come first, at most \`limit\` of them. \`next_cursor\` is null at the end of a list, and
otherwise the \`cursor\` of the next page. \`GET /analytics\` alone counts pages by \`offset\`, since it can be sorted.

**Media.** Attach files of the library by their ids in \`media_ids\`, or public https links in \`media_urls\`, which
are downloaded into the library first. What a file is, its bytes say, not its name.

**Limits.** An API key may make 120 calls a minute, of which 60 may change something (\`POST\`, \`PATCH\`,
\`DELETE\`), unless the operator chose other numbers: \`RateLimit-Policy\` has those that hold for you, and
\`RateLimit\` what is left. One call too many is 429 with \`Retry-After\`. A workspace has at most 10 webhook
endpoints; a thread has at most 25 texts.`;

export const info = {
  title: 'Punctual',
  version,
  description,
  license: { name: 'MIT', identifier: 'MIT' },
};

export const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'svc_live_…',
    description: 'An API key of the workspace.',
  },
};

/** What the calls are grouped by, in this order. */
export const tags = {
  Workspace: 'The workspace that an API key acts for. A key acts for exactly one.',
  Channels: 'Connected social accounts. A post is published to one or more of them.',
  Posts: 'Drafts, scheduled posts and threads, and what became of them on each channel.',
  Media: 'Images and videos that posts can have. Links to them need no API key.',
  Analytics: 'What the networks tell of published posts: views, likes, comments, shares, saves.',
  Webhooks: 'Endpoints of yours that hear of outcomes, and how each delivery to them went.',
  Events: [
    'What Punctual sends to your webhook endpoints: a signed `POST`, with the event as JSON.',
    'To check the signature, take the raw body as text, compute the HMAC-SHA256 of',
    '`<Service-Timestamp>.<raw body>` keyed with the whole signing secret (`whsec_` included), write it as',
    '`sha256=<hex>`, and compare it with `Service-Signature` in constant time. Refuse timestamps more than',
    '5 minutes old. Or give a library of Standard Webhooks the `webhook-…` headers, the raw body and the secret.',
    'An event can arrive more than once: keep its `id` from the body and skip those you have handled.',
    'An endpoint gets at most four requests at a time.',
  ].join(' '),
} as const;

/** What a call of ours can be grouped by; `Events` are the calls that go out. */
export type Tag = Exclude<keyof typeof tags, 'Events'>;
