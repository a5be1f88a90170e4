import { version } from '../../runtime/version.ts';

const description = `Schedule social posts and get their outcomes. This is version ${version}. The [guides](/docs/guides)
explain posts, webhooks, errors and limits.

**Authentication.** Every call needs \`Authorization: Bearer <API key>\`; keys begin with \`svc_live_\`, and the
operator keys for the calls under *Workspaces* with \`svc_admin_\`. Paste yours under *Authentication*, and *Test Request*
works. A key may be limited to scopes: each call names the one it needs (\`x-required-scope\`), and answers 403
\`scope_missing\` without it.

**Requests.** Bodies are JSON of at most 1 MB and 10,000 values; an upload is \`multipart/form-data\` of at most 200
MB. Bodies and queries are validated strictly: an unknown field or parameter is a 400 that names it. For a duplicate
field the last value counts. Send times as RFC 3339 with \`Z\` or an offset; \`scheduled_at\` also takes a local time
beside \`timezone\`. Responses have UTC with milliseconds.

**Answers.** Every answer carries \`X-Request-Id\`. A failure is \`{error, code}\`: \`error\` is a sentence for people,
\`code\` is for programs and never changes its meaning, and \`details\` locates the fault if possible. A known path answers
an unsupported method with 405 \`method_not_allowed\` and the \`Allow\` header. A malformed id in a path is a 404, as an
unknown one is. Responses and events may get new fields: ignore unknown ones.

**Lists.** Newest first unless the call says otherwise, at most \`limit\` items. \`next_cursor\` is null at the end of
a list, and otherwise the \`cursor\` of the next page. \`GET /analytics\` uses \`offset\`, \`GET /events\` uses \`after\`.

**Media.** Attach files of the library by their ids in \`media_ids\`, or public https links in \`media_urls\`, which
are downloaded into the library first, or both in one ordered list, \`media\`. The type of a file is read from its
bytes, not from its name.

**Limits.** An API key may make 120 calls a minute, including 60 writes (\`POST\` but \`/posts/validate\`, \`PATCH\`,
\`DELETE\`), unless the operator configured other limits: \`RateLimit-Policy\` has your limits, and \`RateLimit\` what is
left. A workspace has the calls of ten keys, with all its keys together (\`workspace-requests\`, \`workspace-writes\` where
they refuse). A call beyond a limit is a 429 with \`Retry-After\`. A workspace has at most 10 webhook endpoints, a thread 25 texts.

**Generators.** oapi-codegen (Go) needs \`skip-prune: true\`, or it leaves out the schemas of webhooks. OpenAPI Generator
for C#, Kotlin and PHP cannot read fields that may get new values, such as \`status\`: give it the output of
\`jq 'walk(if (.anyOf? // [] | any(. == {type: "string"})) then .anyOf |= map(select(has("type"))) else . end)' openapi.json\`.
For Ruby it needs \`--model-name-mappings ApiError=ErrorAnswer --enum-name-mappings '*=ALL'\`, and for Java
\`--additional-properties containerDefaultToNull=true\`: otherwise an edit empties the lists that it leaves out.`;

export const info = {
  title: 'Punctual',
  version,
  description,
  contact: { name: 'Punctual' },
  license: { name: 'MIT', identifier: 'MIT' },
};

export const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'svc_live_…',
    description: 'An API key of the workspace.',
  },
  operatorKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'svc_admin_…',
    description: 'A key of the operator, which manages workspaces and reads nothing in them.',
  },
};

/** Groups of the routes, in this order. */
export const tags = {
  Workspace: 'The workspace that an API key acts for. A key acts for exactly one.',
  Keys: 'API keys, each with its scopes, and optionally with its channels and an end.',
  Channels: 'Connected social accounts. A post is published to one or more of them.',
  Posts: 'Drafts, scheduled posts and threads, and their outcome on each channel.',
  Media: 'Images and videos that posts can have. Links to them need no API key.',
  Analytics: 'Metrics of published posts: views, likes, comments, shares, saves.',
  Webhooks:
    'Your endpoints for events, the results of the deliveries to them, and all events to read.',
  Workspaces:
    'For products with many customers: a workspace for each. These calls need an operator key, which acts in no workspace.',
  Events: [
    'Requests to your webhook endpoints: a signed `POST` with the event as JSON.',
    'To check the signature, take the raw body as text, compute the HMAC-SHA256 of',
    '`<Service-Timestamp>.<raw body>` keyed with the whole signing secret (`whsec_` included), write it as',
    '`sha256=<hex>`, and compare it with `Service-Signature` in constant time. Refuse timestamps more than',
    '5 minutes old. Or pass the `webhook-…` headers, the raw body and the secret to a Standard Webhooks library.',
    'An event can arrive more than once: keep its `id` from the body and skip those you have handled.',
    'An endpoint gets at most four requests at a time from each worker.',
  ].join(' '),
} as const;

/** The group of a route; `Events` holds the outgoing requests. */
export type Tag = Exclude<keyof typeof tags, 'Events'>;
