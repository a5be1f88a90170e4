import { dateTime, fields, flag, record, text, type Value } from '../../domain/json-schema.ts';

const short = { ...text, minLength: 1, maxLength: 500 } as const;

export const connectBody = fields(
  {
    platform: { ...short, description: 'As in `GET /networks`.', examples: ['mastodon'] },
    url: {
      ...short,
      description:
        'The account’s server, where the network has many; the person is asked otherwise.',
    },
    handle: {
      ...short,
      description:
        'The account’s handle, where the network needs it; the person is asked otherwise.',
    },
    return_url: {
      ...text,
      minLength: 1,
      maxLength: 2000,
      description:
        'Where the browser goes in the end, with `connected=<channel id>` or `error=<code>` added to its query. The operator lists what is allowed.',
    },
    sandbox: { ...flag, description: 'An account of the sandbox instead of the network.' },
    channel_id: {
      ...text,
      maxLength: 100,
      description: 'The channel to connect again: any other account is refused then.',
    },
  },
  ['platform'],
);
export type ConnectBody = Value<typeof connectBody>;

export const linkAnswer = record({
  link: {
    ...text,
    format: 'uri',
    description: 'For a person’s browser. Whoever has it can connect an account: once, and soon.',
  },
  expires_at: dateTime,
  platform: text,
});
