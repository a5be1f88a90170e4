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
