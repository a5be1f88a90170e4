import {
  dateTime,
  fields,
  flag,
  listOf,
  nullable,
  oneOf,
  record,
  text,
  uuid,
  type Value,
} from '../../domain/json-schema.ts';
import { linkStatuses } from '../../services/channels/read-link.ts';

const short = { ...text, minLength: 1, maxLength: 500 } as const;

export const connectBody = fields(
  {
    platform: {
      ...short,
      description: 'As in `GET /networks`.',
      examples: ['x', 'linkedin', 'bluesky', 'mastodon', 'youtube'],
    },
    url: {
      ...short,
      description:
        'The account’s server, for a network with many servers. If omitted, the page asks for it.',
    },
    handle: {
      ...short,
      description:
        'The account’s handle, if the network needs it. If omitted, the page asks for it.',
    },
    return_url: {
      ...text,
      minLength: 1,
      maxLength: 2000,
      description:
        'The address to which the browser returns, with `connected=<channel id>` or `error=<code>` added to its query. The operator configures the allowed addresses.',
    },
    sandbox: { ...flag, description: 'An account of the sandbox instead of the network.' },
    channel_id: {
      ...text,
      maxLength: 100,
      description: 'The channel to connect again. Any other account is then refused.',
    },
  },
  ['platform'],
);
export type ConnectBody = Value<typeof connectBody>;

export const linkAnswer = record({
  id: { ...uuid, description: 'For `GET /channels/connect/{link_id}`.' },
  link: {
    ...text,
    format: 'uri',
    description:
      'Open it in a browser. Anyone who has the link can connect an account with it, once and before it expires.',
  },
  expires_at: dateTime,
  platform: text,
});

export const linkStatusAnswer = record({
  id: uuid,
  status: {
    ...oneOf(linkStatuses),
    description:
      '`pending`: it is not finished yet. `connected`: it connected the account of `channel_ids`. `failed`: it ended without an account. `expired`: it was not finished in time. The last two need a new link.',
  },
  channel_ids: { ...listOf(uuid), description: 'The connected channels; empty before.' },
  error: {
    ...nullable(text),
    description:
      'The last problem, as a sentence for people, also of a pending link that can still be used; null without one.',
  },
  error_code: {
    ...nullable(text),
    description:
      'A code for `error`, such as `denied`, `wrong_account`, `no_account` or `quota_exceeded`. More may be added.',
  },
  platform: text,
  expires_at: dateTime,
});

/** For the OpenAPI document. */
export const connectExamples = {
  mastodon: {
    summary: 'A Mastodon account, with a return URL',
    value: {
      platform: 'mastodon',
      url: 'https://social.example',
      return_url: 'https://app.example.com/accounts',
    },
  },
  again: {
    summary: 'A channel that needs reconnecting',
    value: { platform: 'x', channel_id: '0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31' },
  },
} as const;
