/** Names that other services use, by the name here. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  body: ['text', 'content', 'message', 'caption', 'tweet', 'commentary', 'hashtags'],
  text: ['body', 'content', 'message', 'caption'],
  scheduled_at: [
    'scheduledfor',
    'publishat',
    'sendat',
    'dueat',
    'date',
    'scheduledate',
    'scheduledtime',
    'scheduledsendtime',
  ],
  schedule_in_minutes: ['delay', 'inminutes', 'minutes', 'scheduleinhours', 'hours'],
  channel_ids: [
    'channel',
    'channels',
    'profiles',
    'profileids',
    'socialprofileids',
    'accounts',
    'accountids',
    'platform',
    'platforms',
    'networks',
  ],
  channel_id: ['profileid', 'accountid', 'account', 'profile'],
  channel_options: [
    'visibility',
    'spoilertext',
    'contentwarning',
    'firstcomment',
    'language',
    'langs',
  ],
  video: ['title'],
  timezone: ['tz', 'timezonename'],
  thread: ['threadmedia', 'tweets'],
  tags: ['labels'],
  return_url: ['redirecturi', 'redirecturl', 'callbackurl'],
  logo_url: ['logo'],
  events: ['eventtypes'],
  event_type: ['type', 'event'],
  enabled: ['active', 'isactive'],
  q: ['search', 'query'],
  media_ids: ['files', 'attachments', 'images', 'image', 'videos', 'assets', 'mediaitems'],
  media_urls: ['urls', 'media', 'imageurls', 'videourls'],
  limit: ['count', 'size', 'pagesize', 'perpage'],
  cursor: ['page', 'after', 'nextcursor', 'pagetoken'],
  from: ['start', 'since', 'startdate'],
  to: ['end', 'until', 'enddate'],
  search: ['q', 'query'],
  url: ['endpoint', 'callbackurl', 'targeturl', 'posturl', 'server', 'instance'],
  alt_text: ['alt', 'caption', 'description'],
  media_id: ['id', 'fileid'],
  post_id: ['id', 'post'],
  platform: ['network', 'provider'],
  status: ['state'],
  '/channels': ['accounts', 'account', 'profiles', 'integrations'],
  '/networks': ['platforms', 'providers'],
  '/posts': ['drafts', 'updates', 'schedules', 'scheduled', 'queue', 'statuses', 'tweets'],
  '/media': ['uploads', 'upload'],
  '/webhooks': ['hooks', 'endpoints'],
  '/analytics': ['stats', 'statistics', 'insights', 'metrics'],
  '/me': ['user', 'whoami'],
  file: ['image', 'video', 'media', 'photo', 'upload', 'attachment'],
};

/** Spellings such as `channelIds`, `channel-ids` and `channel_ids[]` are the same name. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/gv, '');

/** The known name that an unknown one probably means; undefined when none is close. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const name = plain(given.slice(0, 64));
  const meant = known.find((one) => plain(one) === name || synonyms[one]?.includes(name));
  if (meant !== undefined || name === '') {
    return meant;
  }

  const most = Math.min(2, Math.floor(name.length / 3));
  const [nearest] = known
    .filter((one) => Math.abs(plain(one).length - name.length) <= most)
    .map((one) => ({ one, edits: editsBetween(name, plain(one)) }))
    .filter(({ edits }) => edits <= most)
    .toSorted((a, b) => a.edits - b.edits);
  return nearest?.one;
}

/** The number of letters to insert, remove or replace (Levenshtein distance). */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const replaced = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }

    row = next;
  }

  return row[b.length] ?? 0;
}

/** Names by which other services publish at once. */
const nowNames = /^(?:status|publish(?:now|immediately)?|post(?:now)?|now|sendnow|draft|isdraft)$/v;

/** Services have the text as `post` or `status`, whose other values are states. */
const isTextOf = (given: string, beside: object): boolean => {
  const value: unknown = Object.entries(beside).find(([name]) => name === given)?.[1];
  return (
    /^(?:post|status)$/v.test(given) &&
    typeof value === 'string' &&
    !('body' in beside) &&
    !/^(?:draft|scheduled?|publish(?:ed)?|now|pending|queued?|cancell?ed|approved)$/v.test(value)
  );
};

/** Answers have a post as `{"post": {…}}`, and requests its fields alone. */
const isEnvelope = (given: string, beside: { readonly post?: unknown }): boolean =>
  given === 'post' && typeof beside.post === 'object' && beside.post !== null;

/** Describes an unknown name for the caller. @param what `field` @param beside Fields of the same object. */
export function unknownName(
  what: string,
  given: string,
  known: readonly string[],
  beside: object = {},
): string {
  const nearest = isTextOf(given, beside)
    ? known.find((name) => name === 'body')
    : nearestName(given, known);
  const meant = nearest !== undefined && Object.hasOwn(beside, nearest) ? undefined : nearest;
  const isPost = known.includes('schedule_in_minutes');
  if (isPost && isEnvelope(given, beside)) {
    return `Unknown ${what} \`${given}\`. Send its fields without \`${given}\` around them.`;
  }

  if (isPost && !isTextOf(given, beside) && nowNames.test(plain(given.slice(0, 64)))) {
    const isNew = known.includes('idempotency_key'); // An edit has none.
    const draft = isNew ? 'without a time the post is' : '`scheduled_at: null` makes the post';
    return `Unknown ${what} \`${given}\`. \`schedule_in_minutes: 0\` publishes now, \`scheduled_at\` later; ${draft} a draft.`;
  }

  const isAnswer = Object.hasOwn(beside, 'id'); // No request has this field.
  const begin = isAnswer ? 'Answers have more fields; a request takes' : 'Known:';
  const all = known.length > 0 ? `${begin} ${known.join(', ')}.` : 'None is known here.';
  const next = meant === undefined ? all : `Did you mean \`${meant}\`?`;
  return `Unknown ${what} \`${given.length > 64 ? `${given.slice(0, 63)}…` : given}\`. ${next}`;
}
